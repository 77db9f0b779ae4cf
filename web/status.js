// What is going on, in a word: from the state of the line and the server's events. Pure.

const WORDS = {
  idle: "Ready",
  connecting: "Connecting…",
  reconnecting: "Reconnecting…",
  listening: "Listening",
  hearing: "You speak",
  thinking: "Thinking",
  speaking: "Agent speaks",
};

/** What the call does after an event of the server; the same where the event says nothing of it. */
export function activity(before, event) {
  switch (event.type) {
    case "session.created":
    case "output_audio_buffer.stopped":
    case "output_audio_buffer.cleared":
      return before === "hearing" ? before : "listening";
    case "input_audio_buffer.speech_started":
      return "hearing";
    case "input_audio_buffer.speech_stopped":
    case "response.created":
      return "thinking";
    case "output_audio_buffer.started":
      return "speaking";
    case "conversation.item.input_audio_transcription.completed":
      return event.transcript.trim() === "" && before === "thinking" ? "listening" : before;
    default:
      return before;
  }
}

/** The word for it. */
export function statusText(state) {
  return WORDS[state];
}
