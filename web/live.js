// Calls in OpenAI's Live API: their request, and their events as those of the Realtime API, which the page shows.

const TRANSCRIPTION = "conversation.item.input_audio_transcription";
/** Quiet after the agent's last word that counts as its end: the API has no event for it. */
const QUIET_MS = 600;
/** Longest history of a session that starts, as in the API. */
const MAX_MESSAGES = 128;

/** Path of the requests. */
export const SESSIONS = "/v1/live/sessions";

/** Body of the request for a call. offer: SDP. agent: its name, "" for the default. voice: "" for the default. items: the
 * conversation so far. The server's LLM is the backend too, so that tools of the agent run. */
export function liveRequest(offer, agent, voice, items) {
  const model = agent || "voiceagent";
  const session = { model, delegation: { type: "responses", responses: { model } } };
  if (voice) session.audio = { output: { voice } };
  if (items.length > 0) session.input = items.slice(-MAX_MESSAGES).map(({ role, content }) => ({ role, content }));
  return { session, transport: { type: "webrtc", sdp: offer } };
}

/** Client events that have a typed message answered. */
export function typedLive(text) {
  const content = `The caller writes: ${text}`.slice(0, 4_000);
  return [{ type: "session.commentary.append", content, delegation_id: null }];
}

/** Events of one session. emit: receives them as events of the Realtime API. */
export class LiveEvents {
  #emit;
  #side = "";
  #text = "";
  #number = 0;
  #quiet = null;
  #waitMs;
  #answered = "";

  /** waitMs: returns the wait for the agent's latest audio, null if unknown. */
  constructor(emit, waitMs = () => null) {
    this.#emit = emit;
    this.#waitMs = waitMs;
  }

  /** Take a server event. */
  take(event) {
    switch (event.type) {
      case "session.started":
        return this.#emit({ type: "session.created" });
      case "session.input_transcript.delta":
        return this.#words("user", event);
      case "session.output_transcript.delta":
        return this.#words("assistant", event);
      case "error":
        return this.#emit(event);
    }
  }

  /** A transcript has no ends: a message lasts until the other side has words, or the agent is quiet. */
  #words(side, { delta, start_ms, end_ms }) {
    if (this.#side !== side) this.#begin(side);
    const words = this.#text ? delta : delta.trimStart();
    this.#text += words;
    const item_id = this.#id;
    if (side === "user") return this.#emit({ type: `${TRANSCRIPTION}.delta`, item_id, delta: words });
    this.#emit({ type: "output_audio_buffer.started" });
    this.#emit({ type: "response.output_audio_transcript.delta", item_id, delta: words });
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.end(), end_ms - start_ms + QUIET_MS);
  }

  /** End the message in progress. */
  end() {
    clearTimeout(this.#quiet);
    const item_id = this.#id;
    if (this.#side === "user") this.#emit({ type: `${TRANSCRIPTION}.completed`, item_id, transcript: this.#text });
    if (this.#side === "assistant") {
      this.#emit({ type: "response.output_item.done", item: { id: item_id } });
      this.#emit({ type: "output_audio_buffer.stopped" });
      this.#report();
    }
    this.#side = this.#text = "";
  }

  /** Report the wait of an answer to speech, as measured in the page: the API has no stages. */
  #report() {
    const [ms, turn_id] = [this.#waitMs(), this.#answered];
    this.#answered = "";
    if (ms === null || !turn_id) return;
    const stages = [{ name: "whole", ms, budget_ms: null }];
    this.#emit({ type: "voiceagent.latency", turn_id, outcome: "completed", wait_ms: ms, hidden_ms: 0, over_budget: [], stages });
  }

  #begin(side) {
    if (side === "assistant" && this.#side === "user") this.#answered = this.#id;
    this.end();
    this.#side = side;
    this.#number += 1;
    if (side === "user") this.#emit({ type: "input_audio_buffer.speech_started", item_id: this.#id });
  }

  get #id() {
    return `live-${this.#number}`;
  }
}
