// Menus of microphones and loudspeakers: the available devices and the selected one.

import { canChooseSpeaker, listDevices } from "./sound.js";

/** microphones, speakers: the select elements. */
export class DeviceMenus {
  #microphones;
  #speakers;

  constructor(microphones, speakers) {
    this.#microphones = microphones;
    this.#speakers = speakers;
  }

  /** Id of the selected microphone; "" for the browser's default. */
  get microphone() {
    return this.#microphones.value;
  }

  /** Id of the selected loudspeaker; "" for the browser's default. */
  get speaker() {
    return this.#speakers.value;
  }

  /** Show the available devices. */
  async show() {
    const { inputs, outputs } = await listDevices();
    fill(this.#microphones, inputs);
    fill(this.#speakers, outputs);
    this.#speakers.disabled = !canChooseSpeaker;
  }
}

/** Fill a menu with [{id, label}] after "Default"; the selection stays if it is still there. */
export function fill(menu, devices) {
  const chosen = menu.value;
  const options = devices.map(({ id, label }) => new Option(label, id));
  menu.replaceChildren(new Option("Default", ""), ...options);
  menu.value = devices.some(({ id }) => id === chosen) ? chosen : "";
}
