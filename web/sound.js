// Sound in and out of the page: the microphone, the loudspeaker, and the levels of both.

import { insecureError, microphoneError } from "./messages.js";

/** Opens the microphone; "" takes the browser's own choice. Throws CallError. */
export async function openMicrophone(deviceId) {
  if (!navigator.mediaDevices?.getUserMedia) throw insecureError();
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 };
  if (deviceId) audio.deviceId = { exact: deviceId };
  try {
    return await navigator.mediaDevices.getUserMedia({ audio });
  } catch (error) {
    throw microphoneError(error);
  }
}

/** The microphones and loudspeakers: {inputs, outputs} of {id, label}. Names are known once one was allowed. */
export async function listDevices() {
  const found = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  const of = (kind, name) =>
    found
      .filter((device) => device.kind === kind && device.deviceId !== "" && device.deviceId !== "default")
      .map((device, index) => ({ id: device.deviceId, label: device.label || `${name} ${index + 1}` }));
  return { inputs: of("audioinput", "Microphone"), outputs: of("audiooutput", "Loudspeaker") };
}

/** Whether the page may choose the loudspeaker. */
export const canChooseSpeaker = "setSinkId" in HTMLMediaElement.prototype;

/**
 * Tells the levels of streams, but for pages on plain HTTP, where browsers let nothing listen. Made by a press of a
 * button: browsers start no sound without one.
 */
export class Levels {
  #context = new AudioContext({ latencyHint: "interactive" });
  #ready = this.#context.audioWorklet?.addModule("./level-worklet.js");

  /** A track without sound, for a call without a microphone. */
  silence() {
    return this.#context.createMediaStreamDestination().stream;
  }

  /** Tell `listener(level, atS)` about a stream from now on; returns how to stop. */
  async subscribe(stream, listener) {
    // Not waited for: where there is no loudspeaker Firefox never does; nor minded when the call is over before.
    this.#context.resume().catch(() => {});
    await this.#ready;
    if (!this.#ready) return () => {};
    const source = this.#context.createMediaStreamSource(stream);
    const level = new AudioWorkletNode(this.#context, "level", { numberOfOutputs: 0 });
    level.port.onmessage = ({ data }) => listener(data.level, data.atS);
    source.connect(level);
    return () => {
      level.port.onmessage = null;
      source.disconnect();
    };
  }

  /** Let the sound device go. */
  close() {
    return this.#context.close();
  }
}
