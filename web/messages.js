// What went wrong, in words that say what to do. Pure.

/** An error with a title and advice that people can read; `retry`: trying again by itself may help. */
export class CallError extends Error {
  constructor(code, title, advice, retry = false) {
    super(title);
    this.code = code;
    this.advice = advice;
    this.retry = retry;
  }
}

const MICROPHONE = {
  NotAllowedError: [
    "The microphone is blocked",
    "Allow it for this page (the icon beside the address), then press Talk. Until then you can type.",
  ],
  NotFoundError: ["No microphone was found", "Plug one in, or type below: the answer is spoken all the same."],
  NotReadableError: ["The microphone is in use", "Another program holds it. Close that, then press Talk again."],
  OverconstrainedError: ["That microphone is gone", "Choose another one, then press Talk again."],
};

/** Why `getUserMedia` failed. */
export function microphoneError(error) {
  const [title, advice] = MICROPHONE[error.name] ?? ["The microphone cannot be used", String(error.message)];
  return new CallError("microphone", title, advice);
}

/** Without a secure context browsers hide the microphone. */
export function insecureError() {
  return new CallError(
    "insecure",
    "This address cannot use the microphone",
    "Browsers allow it on https:// and on http://localhost only. You can type below.",
  );
}

/** Why the server did not take the call. message: its own words, "" for none. */
export function refusalError(status, message) {
  if (status === 401) return new CallError("key", "This server wants a key", "Enter one below to call.");
  if (status === 403) return new CallError("origin", "This page may not call the server", message);
  if (status === 503 && /taken/.test(message))
    return new CallError("full", "The server is full", "All lines are busy. Press Talk to try again in a moment.");
  if (status === 503)
    return new CallError("unavailable", "The server takes no calls at the moment", message, true);
  if (status === 404 || status === 405)
    return new CallError("webrtc", "This server takes no WebRTC calls", "Is its WebRTC end installed?");
  return new CallError("refused", `The server refused the call (${status})`, message);
}

/** No answer came at all. */
export function unreachableError() {
  return new CallError("unreachable", "The server does not answer", "Is it running? Trying again…", true);
}

/** The line was there, and is gone. */
export function droppedError() {
  return new CallError("dropped", "The connection dropped", "Reconnecting; what was said so far is kept.", true);
}

/** The same error where it is not tried again any more. */
export function givenUp(error) {
  return error.retry ? new CallError(error.code, error.message, "Press Talk to try again.") : error;
}

/** A key that was entered is none of the server's. */
export function wrongKeyError() {
  return new CallError("key", "The server does not take this key", "Check it, and enter it again.");
}
