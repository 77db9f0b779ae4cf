// Audio of one call: the caller's microphone, and the levels of both sides.

import { Ears } from "./ears.js";
import { Levels, openMicrophone } from "./sound.js";

/** Create it in a button's click handler; close it after the call. `ears` measures the wait; `microphone` is its stream. */
export class CallSound {
  #levels = new Levels();
  #meter;
  #unplugged;
  #unsubscribe = () => {};
  #muted = false;
  ears = new Ears();
  microphone = null;

  /** meter: shows the levels. unplugged: called when the microphone is removed. */
  constructor(meter, unplugged) {
    this.#meter = meter;
    this.#unplugged = unplugged;
  }

  /** Open the microphone. Returns null, or the error if there is none: then the caller types and listens. */
  async open(deviceId) {
    let why = null;
    try {
      this.microphone = await openMicrophone(deviceId);
    } catch (error) {
      why = error;
      this.microphone = this.#levels.silence();
    }
    this.mute(this.#muted);
    return why;
  }

  /** True if the microphone was removed. */
  get lost() {
    return this.microphone.getAudioTracks().some((track) => track.readyState === "ended");
  }

  /** Switch to another microphone and release the previous one. Then call `followMicrophone`. */
  replaceMicrophone(stream) {
    stop(this.microphone);
    this.microphone = stream;
    this.mute(this.#muted);
  }

  /** Send silence instead of the microphone's audio, also after the microphone was replaced; or stop doing so. */
  mute(muted) {
    this.#muted = muted;
    for (const track of this.microphone?.getAudioTracks() ?? []) track.enabled = !muted;
  }

  /** Show and measure the level of the current microphone. */
  async followMicrophone() {
    for (const track of this.microphone.getAudioTracks()) track.addEventListener("ended", this.#unplugged);
    this.#unsubscribe();
    this.#unsubscribe = await this.#levels.subscribe(this.microphone, (level, atS) => {
      this.ears.caller(level, atS);
      this.#meter.hear("caller", level, atS);
    });
  }

  /** Show and measure the level of the agent's voice. */
  async followAgent(stream) {
    await this.#levels.subscribe(stream, (level, atS) => {
      this.ears.agent(level, atS);
      this.#meter.hear("agent", level, atS);
    });
  }

  /** Release the microphone and the audio device. */
  close() {
    this.#unsubscribe();
    stop(this.microphone);
    this.#levels.close();
  }
}

/** Release a microphone. */
export function stop(stream) {
  for (const track of stream.getTracks()) track.stop();
}
