// Audio in and out of the page: microphone, loudspeaker, and the levels of both.

import { insecureError, microphoneError } from "./messages.js";

/** Open the microphone; "" for the browser's default. Throws CallError. */
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

/** Microphones and loudspeakers: {inputs, outputs} of {id, label}. Labels are known once one was allowed. */
export async function listDevices() {
  const found = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  const of = (kind, name) =>
    found
      .filter((device) => device.kind === kind && device.deviceId !== "" && device.deviceId !== "default")
      .map((device, index) => ({ id: device.deviceId, label: device.label || `${name} ${index + 1}` }));
  return { inputs: of("audioinput", "Microphone"), outputs: of("audiooutput", "Loudspeaker") };
}

/** True if the page may choose the loudspeaker. */
export const canChooseSpeaker = "setSinkId" in HTMLMediaElement.prototype;

/**
 * Reports the levels of streams, except on plain HTTP, where browsers disable audio worklets. Create it in a button's
 * click handler: browsers start no audio otherwise.
 */
export class Levels {
  #context = new AudioContext({ latencyHint: "interactive" });
  #ready = this.#context.audioWorklet?.addModule("./level-worklet.js");

  /** A silent track, for a call without a microphone. */
  silence() {
    return this.#context.createMediaStreamDestination().stream;
  }

  /** Report a stream's level to `listener(level, atS)` from now on; returns a function that stops. */
  async subscribe(stream, listener) {
    // Not awaited: without a loudspeaker Firefox never resolves it. Errors are ignored if the call has ended.
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

  /** Release the audio device. */
  close() {
    return this.#context.close();
  }
}
