// The sound of one call: the caller's microphone, and the levels of both sides.

import { Ears } from "./ears.js";
import { Levels, openMicrophone } from "./sound.js";

/** Made by a press of a button, closed when the call is over. `ears` measures the wait; `microphone` is its stream. */
export class CallSound {
  #levels = new Levels();
  #meter;
  #unplugged;
  #unsubscribe = () => {};
  ears = new Ears();
  microphone = null;

  /** meter: shows the levels. unplugged: called where the microphone goes. */
  constructor(meter, unplugged) {
    this.#meter = meter;
    this.#unplugged = unplugged;
  }

  /** Open the microphone. Without one the call is typed, and heard; returns why, null where there is one. */
  async open(deviceId) {
    let why = null;
    try {
      this.microphone = await openMicrophone(deviceId);
    } catch (error) {
      why = error;
      this.microphone = this.#levels.silence();
    }
    return why;
  }

  /** Whether the microphone has gone. */
  get lost() {
    return this.microphone.getAudioTracks().some((track) => track.readyState === "ended");
  }

  /** Take another microphone from now on; the one before is let go. Follow it by `followMicrophone`. */
  replaceMicrophone(stream) {
    stop(this.microphone);
    this.microphone = stream;
  }

  /** Show and measure the level of the microphone that there is now. */
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

  /** Let microphone and sound device go. */
  close() {
    this.#unsubscribe();
    stop(this.microphone);
    this.#levels.close();
  }
}

/** Let a microphone go. */
export function stop(stream) {
  for (const track of stream.getTracks()) track.stop();
}
