// The menus of microphones and loudspeakers: what is plugged in, and which of it was chosen.

import { canChooseSpeaker, listDevices } from "./sound.js";

/** microphones, speakers: the menus. */
export class DeviceMenus {
  #microphones;
  #speakers;

  constructor(microphones, speakers) {
    this.#microphones = microphones;
    this.#speakers = speakers;
  }

  /** The microphone that was chosen; "" for the browser's own choice. */
  get microphone() {
    return this.#microphones.value;
  }

  /** The loudspeaker, the same way. */
  get speaker() {
    return this.#speakers.value;
  }

  /** Show what is plugged in now. */
  async show() {
    const { inputs, outputs } = await listDevices();
    fill(this.#microphones, inputs);
    fill(this.#speakers, outputs);
    this.#speakers.disabled = !canChooseSpeaker;
  }
}

function fill(menu, devices) {
  const chosen = menu.value;
  const options = devices.map(({ id, label }) => new Option(label, id));
  menu.replaceChildren(new Option("Default", ""), ...options);
  menu.value = devices.some(({ id }) => id === chosen) ? chosen : "";
}
