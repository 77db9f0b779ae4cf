// Status of the call in one word, from the connection's state and the server's events. Pure.

const WORDS = {
  idle: "Ready",
  connecting: "Connecting…",
  reconnecting: "Reconnecting…",
  listening: "Listening",
  hearing: "You are speaking",
  thinking: "Thinking",
  speaking: "Agent is speaking",
};

/** Activity after a server event; unchanged by events without one. */
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

/** Text of the status. */
export function statusText(state) {
  return WORDS[state];
}
