// One call over WebRTC, as the OpenAI Realtime API has it: `POST /v1/realtime/calls`, data channel `oai-events`.

import { CallError, droppedError, refusalError, unreachableError, wrongKeyError } from "./messages.js";

const CALLS = "/v1/realtime/calls";
const CONNECT_MS = 10_000;
/** How long a line may be silent before it counts as gone; shorter gaps mend by themselves. */
const PATIENCE_MS = 2_000;

/** A short-lived key for this page, from one that may call. Throws CallError. */
export async function mintKey(key) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  try {
    return (await (await ask("/v1/realtime/client_secrets", { headers, body: "{}" })).json()).value;
  } catch (error) {
    throw error.code === "key" ? wrongKeyError() : error;
  }
}

/** A call. `ended` is a promise of why it ended: null where this side hung up, a CallError otherwise. */
export class Call {
  #connection = new RTCPeerConnection();
  #channel = this.#connection.createDataChannel("oai-events");
  #headers = {};
  #location = null;
  #end;
  #lost = null;
  ended = new Promise((resolve) => (this.#end = resolve));

  /** onEvent: given every server event. onSound: given the agent's stream. */
  constructor(onEvent, onSound) {
    this.#channel.onmessage = ({ data }) => onEvent(JSON.parse(data));
    this.#channel.onclose = () => this.#over(serverEnded());
    this.#connection.ontrack = ({ track, streams }) => onSound(streams[0] ?? new MediaStream([track]));
    this.#connection.onconnectionstatechange = () => this.#monitor();
  }

  /** Call the server and wait until the line is open. key: "" for none. leaving: ends the waiting. Throws CallError. */
  async open(stream, session, key, leaving) {
    if (key) this.#headers.Authorization = `Bearer ${key}`;
    const left = new Promise((_, reject) => leaving.addEventListener("abort", () => reject(leaving.reason)));
    try {
      for (const track of stream.getAudioTracks()) this.#connection.addTrack(track, stream);
      await this.#connection.setLocalDescription();
      const form = new FormData();
      form.append("sdp", this.#connection.localDescription.sdp);
      form.append("session", JSON.stringify(session));
      const answer = await Promise.race([left, this.#ask(form, leaving)]);
      await this.#connection.setRemoteDescription({ type: "answer", sdp: await answer.text() });
      await Promise.race([left, this.#opened()]);
    } catch (error) {
      this.hangUp();
      throw error instanceof CallError ? error : new CallError("line", "No line came about", error.message);
    }
  }

  /** The connection, for its statistics. */
  get connection() {
    return this.#connection;
  }

  /** Send a client event; one that comes too late is dropped. */
  send(event) {
    if (this.#channel.readyState === "open") this.#channel.send(JSON.stringify(event));
  }

  /** Put another microphone in the place of the one that is heard. */
  async replaceMicrophone(stream) {
    const [sender] = this.#connection.getSenders();
    await sender.replaceTrack(stream.getAudioTracks()[0]);
  }

  /** End the call from this side; the server is told once. */
  hangUp() {
    const request = { method: "POST", headers: this.#headers, keepalive: true };
    const location = this.#location;
    this.#location = null;
    if (location) fetch(`${location}/hangup`, request).catch(() => {});
    this.#over(null);
  }

  /** Offer. A caller who has left meanwhile hangs up all the same: a line would wait for him. */
  async #ask(body, leaving) {
    const answer = await ask(CALLS, { headers: this.#headers, body });
    this.#location = answer.headers.get("Location");
    if (leaving.aborted) this.hangUp();
    return answer;
  }

  #opened() {
    if (this.#channel.readyState === "open") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const blocked = "The network between this browser and the server lets no sound (UDP) through.";
      const late = setTimeout(() => reject(new CallError("line", "No line came about", blocked)), CONNECT_MS);
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

/** POST to this server. Throws CallError where it does not answer, or says no. */
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
