// Replay of a call: the command that runs it, and the result of the server's own replay.

import { replayCall } from "./calls-api.js";

export class CallReplay {
  #$;
  #shown;
  #asked;

  /**
   * $: returns an element of the page by its id. shown: returns the id of the shown call. asked(promise, id): the result
   * of a request, null if it failed or another call is shown by now.
   */
  constructor($, shown, asked) {
    this.#$ = $;
    this.#shown = shown;
    this.#asked = asked;
    $("copy").addEventListener("click", () => this.#copy());
    $("replay").addEventListener("click", () => this.#replay());
  }

  async #copy() {
    const command = `voiceagent replay ${this.#shown()} --config FILE`;
    try {
      await navigator.clipboard.writeText(command);
      this.#say(`Copied: ${command}`);
    } catch {
      this.#say(command); // to be copied by hand: browsers allow it on https and localhost only
    }
  }

  async #replay() {
    const id = this.#shown();
    this.#say("Replaying…");
    const told = await this.#asked(replayCall(id), id);
    if (!told) return this.#say("");
    const { same, events, seconds, event, diff } = told;
    this.#say(same ? `The same decisions at all ${events} events, in ${seconds} s.` : `First different decision at event ${event} of ${events}.`);
    this.#$("diff").hidden = same;
    this.#$("diff").textContent = diff ?? "";
  }

  #say(words) {
    this.#$("outcome").hidden = words === "";
    this.#$("outcome").textContent = words;
  }
}
