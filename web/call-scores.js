// Panel with the scores of a call, requested when it is opened: they cost the server time.

import { readScores } from "./calls-api.js";

const SHOWN = { s: (value) => `${value.toFixed(2)} s`, share: (value) => `${Math.round(100 * value)} %`, "per turn": (value) => value.toFixed(2) };

/** Rows of the table: [name, value, number of events, source]. */
export function rowsOf(scores) {
  return scores.map(({ name, source, unit, value, count }) => [name, SHOWN[unit](value), String(count), source]);
}

export class CallScores {
  #$;
  #shown;
  #asked;

  /** Arguments as for CallReplay. */
  constructor($, shown, asked) {
    this.#$ = $;
    this.#shown = shown;
    this.#asked = asked;
    $("scores").addEventListener("toggle", () => this.#read());
  }

  /** Close the panel, for another call. */
  close() {
    this.#$("scores").open = false;
  }

  async #read() {
    if (!this.#$("scores").open) return;
    const id = this.#shown();
    this.#say("Computing…", []);
    const told = await this.#asked(readScores(id), id);
    if (!told) return this.#say("The scores cannot be computed.", []);
    const basis = told.by_recording ? "From the recording, by the definitions that voiceagent score has." : "From the log, as there is no recording.";
    this.#say(told.scores.length > 0 ? basis : "Nothing to score in this call.", rowsOf(told.scores));
  }

  #say(words, rows) {
    this.#$("scores-note").textContent = words;
    this.#$("scores-table").hidden = rows.length === 0;
    this.#$("score-rows").replaceChildren(...rows.map(tableRow));
  }
}

function tableRow([name, ...cells]) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = name;
  row.append(head);
  for (const words of cells) {
    const cell = document.createElement("td");
    cell.className = "number";
    cell.textContent = words;
    row.append(cell);
  }
  return row;
}
