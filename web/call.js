// One call over WebRTC, in the OpenAI Realtime API (`POST /v1/realtime/calls`) or Live API (`POST /v1/live/sessions`),
// data channel `oai-events`.

import { SESSIONS, liveRequest } from "./live.js";
import { CallError, droppedError, refusalError, unreachableError, wrongKeyError } from "./messages.js";

const CALLS = "/v1/realtime/calls";
const CONNECT_MS = 10_000;
/** Longest interruption before the connection counts as lost; shorter ones recover. */
const PATIENCE_MS = 2_000;

/** Request a client secret for this page with an API key. Throws CallError. */
export async function mintKey(key) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  try {
    return (await (await ask("/v1/realtime/client_secrets", { headers, body: "{}" })).json()).value;
  } catch (error) {
    throw error.code === "key" ? wrongKeyError() : error;
  }
}

/** A call. `ended` resolves to null if this side hung up, to a CallError otherwise. */
export class Call {
  #connection = new RTCPeerConnection();
  #channel = this.#connection.createDataChannel("oai-events");
  #onSent;
  #headers = {};
  #location = null;
  #end;
  #lost = null;
  ended = new Promise((resolve) => (this.#end = resolve));

  /** onEvent: receives every server event. onSound: receives the agent's stream. onSent: receives sent events. */
  constructor(onEvent, onSound, onSent = () => {}) {
    this.#onSent = onSent;
    this.#channel.onmessage = ({ data }) => onEvent(JSON.parse(data));
    this.#channel.onclose = () => this.#over(serverEnded());
    this.#connection.ontrack = ({ track, streams }) => onSound(streams[0] ?? new MediaStream([track]));
    this.#connection.onconnectionstatechange = () => this.#monitor();
  }

  /**
   * Call the server and wait until connected. key: "" for none. leaving: AbortSignal that cancels the wait. agent: its
   * name, "" for the default. Throws CallError.
   */
  async open(stream, session, key, leaving, agent = "") {
    const form = (offer) => {
      const body = new FormData();
      body.append("sdp", offer);
      body.append("session", JSON.stringify(session));
      return { path: agent ? `${CALLS}?model=${encodeURIComponent(agent)}` : CALLS, headers: {}, body };
    };
    await this.#open(stream, key, leaving, form, (answer) => answer.text());
  }

  /** As `open`, in the Live API. voice: "" for the default. items: the conversation so far. Throws CallError. */
  async openLive(stream, voice, items, key, leaving, agent = "") {
    const headers = { "Content-Type": "application/json" };
    const form = (offer) => ({ path: SESSIONS, headers, body: JSON.stringify(liveRequest(offer, agent, voice, items)) });
    await this.#open(stream, key, leaving, form, async (answer) => (await answer.json()).transport.sdp);
  }

  /** form: returns the request for an offer. read: returns the SDP of an answer. */
  async #open(stream, key, leaving, form, read) {
    if (key) this.#headers.Authorization = `Bearer ${key}`;
    const left = new Promise((_, reject) => leaving.addEventListener("abort", () => reject(leaving.reason)));
    try {
      for (const track of stream.getAudioTracks()) this.#connection.addTrack(track, stream);
      await this.#connection.setLocalDescription();
      const request = form(this.#connection.localDescription.sdp);
      const answer = await Promise.race([left, this.#ask(request, leaving)]);
      await this.#connection.setRemoteDescription({ type: "answer", sdp: await read(answer) });
      await Promise.race([left, this.#opened()]);
    } catch (error) {
      this.hangUp();
      throw error instanceof CallError ? error : new CallError("line", "Could not connect", error.message);
    }
  }

  /** Id of the call at the server, once connected. */
  id = "";

  /** The connection, for its statistics. */
  get connection() {
    return this.#connection;
  }

  /** Send a client event; dropped after the call has ended. */
  send(event) {
    if (this.#channel.readyState !== "open") return;
    this.#channel.send(JSON.stringify(event));
    this.#onSent(event);
  }

  /** Replace the microphone's track. */
  async replaceMicrophone(stream) {
    const [sender] = this.#connection.getSenders();
    await sender.replaceTrack(stream.getAudioTracks()[0]);
  }

  /** End the call from this side; notifies the server once. */
  hangUp() {
    const request = { method: "POST", headers: this.#headers, keepalive: true };
    const location = this.#location;
    this.#location = null;
    if (location) fetch(`${location}/hangup`, request).catch(() => {});
    this.#over(null);
  }

  /** Post the offer. If the caller has left meanwhile, hang up anyway: otherwise the call would wait for them. */
  async #ask({ path, headers, body }, leaving) {
    const answer = await ask(path, { headers: { ...this.#headers, ...headers }, body });
    this.#location = answer.headers.get("Location");
    this.id = this.#location?.split("/").at(-1) ?? "";
    if (leaving.aborted) this.hangUp();
    return answer;
  }

  #opened() {
    if (this.#channel.readyState === "open") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const blocked = "The network between this browser and the server blocks audio (UDP).";
      const late = setTimeout(() => reject(new CallError("line", "Could not connect", blocked)), CONNECT_MS);
      this.#channel.onopen = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }

  #monitor() {
    const state = this.#connection.connectionState;
    clearTimeout(this.#lost);
    if (state === "failed") this.#over(droppedError());
    if (state === "disconnected") this.#lost = setTimeout(() => this.#over(droppedError()), PATIENCE_MS);
  }

  #over(why) {
    clearTimeout(this.#lost);
    this.#channel.onclose = this.#connection.onconnectionstatechange = null;
    this.#connection.close();
    this.#end(why);
  }
}

function serverEnded() {
  return new CallError("ended", "The server ended the call", "Press Talk to call again.");
}

/** POST to this server. Throws CallError if it does not answer, or refuses. */
async function ask(path, request) {
  let answer;
  try {
    answer = await fetch(path, { method: "POST", ...request });
  } catch {
    throw unreachableError();
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => null);
  throw refusalError(answer.status, said?.error?.message ?? "");
}
