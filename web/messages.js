// Errors with advice for the reader. Pure.

/** An error with a title and advice; `retry`: retrying automatically may help. */
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
    "Allow it for this page (the icon beside the address), then call again. Until then you can type.",
  ],
  NotFoundError: ["No microphone was found", "Connect one, or type below: the agent still speaks."],
  NotReadableError: ["The microphone is in use", "Another program uses it. Close that, then call again."],
  OverconstrainedError: ["That microphone is not connected", "Choose another one."],
};

/** The error for a failed `getUserMedia`. */
export function microphoneError(error) {
  const [title, advice] = MICROPHONE[error.name] ?? ["The microphone cannot be used", String(error.message)];
  return new CallError("microphone", title, advice);
}

/** Without a secure context browsers offer no microphone. */
export function insecureError() {
  return new CallError(
    "insecure",
    "This address cannot use the microphone",
    "Browsers allow it on https:// and on http://localhost only. You can type below.",
  );
}

/** The error for a refused call. message: the server's text, "" for none. */
export function refusalError(status, message) {
  if (status === 401) return new CallError("key", "This server requires a key", "Enter one below to call.");
  if (status === 403) return new CallError("origin", "This page may not call the server", message);
  if (status === 503 && /taken/.test(message))
    return new CallError("full", "The server is full", "All calls are taken. Press Talk to try again in a moment.");
  if (status === 503)
    return new CallError("unavailable", "The server is not taking calls now", message, true);
  if (status === 404 || status === 405)
    return new CallError("webrtc", "This server has no WebRTC calls", "Is its WebRTC extra installed?");
  return new CallError("refused", `The server refused the call (${status})`, message);
}

/** The error for a request without an answer. */
export function unreachableError() {
  return new CallError("unreachable", "The server does not answer", "Is it running? Trying again…", true);
}

/** The error for a dropped connection. */
export function droppedError() {
  return new CallError("dropped", "The connection dropped", "Reconnecting; the conversation is kept.", true);
}

/** The same error after the last retry. */
export function givenUp(error) {
  return error.retry ? new CallError(error.code, error.message, "Press Talk to try again.") : error;
}

/** The error for a key that the server refuses. */
export function wrongKeyError() {
  return new CallError("key", "The server refused this key", "Check it and enter it again.");
}
