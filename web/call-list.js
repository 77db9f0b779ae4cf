// The list of kept calls: filters, pages, and refresh of running calls.

import { listCalls } from "./calls-api.js";
import { clock } from "./timeline.js";

const PAGE = 50;
const AGAIN_MS = 5_000;
const DAY_S = 86_400;

/** The form's filters as query parameters. */
export function filtersOf(form) {
  const asked = {};
  for (const [name, value] of new FormData(form)) if (value) asked[name] = value === "on" ? "1" : value;
  // Days are in this browser's time zone; the last one is inclusive.
  for (const name of ["since", "until"]) {
    if (!asked[name]) continue;
    const atS = new Date(`${asked[name]}T00:00`).getTime() / 1000;
    asked[name] = String(name === "until" ? atS + DAY_S : atS);
  }
  return asked;
}

export class CallList {
  #parts;
  #failed;
  #next = null;
  #asked = 0;
  #timer = 0;

  /** parts: {form, rows, empty, older}. failed: receives a CallError. */
  constructor(parts, failed) {
    this.#parts = parts;
    this.#failed = failed;
    parts.form.addEventListener("change", () => this.open());
    parts.form.addEventListener("submit", (event) => event.preventDefault());
    parts.form.addEventListener("reset", () => setTimeout(() => this.open()));
    parts.older.addEventListener("click", () => this.#page(this.#next));
  }

  /** Show the newest calls; refresh while some are running. */
  async open() {
    clearTimeout(this.#timer);
    await this.#page(null);
  }

  close() {
    this.#asked += 1;
    clearTimeout(this.#timer);
  }

  async #page(behind) {
    const asked = (this.#asked += 1);
    const { form, rows, empty, older } = this.#parts;
    let page;
    try {
      page = await listCalls({ ...filtersOf(form), limit: PAGE, ...(behind ? { behind } : {}) });
    } catch (error) {
      if (asked === this.#asked) this.#failed(error);
      return;
    }
    if (asked !== this.#asked) return; // another question was asked meanwhile
    this.#next = page.next;
    const made = page.calls.map(row);
    if (behind) rows.append(...made);
    else rows.replaceChildren(...made);
    empty.hidden = rows.children.length > 0;
    older.hidden = page.next === null;
    const goOn = !behind && page.calls.some((call) => call.state === "running");
    if (goOn) this.#timer = setTimeout(() => rows.children.length <= PAGE && this.open(), AGAIN_MS);
  }
}

function row(call) {
  const made = document.createElement("tr");
  const began = document.createElement("th");
  began.scope = "row";
  const link = document.createElement("a");
  link.href = `#/${call.call_id}`;
  link.append(when(call.started_at), element("span", "id", call.call_id));
  began.append(link);
  const marks = element("td", "marks");
  const list = element("ul", "chips");
  list.append(...marksOf(call).map(([words, kind]) => element("li", `chip ${kind}`, words)));
  marks.append(list);
  const length = call.seconds === null ? "" : clock(call.seconds);
  const wait = call.longest_wait_ms > 0 ? `${Math.round(call.longest_wait_ms)} ms` : "";
  made.append(began, element("td", "number", length), element("td", "number", call.responses || ""), element("td", "number", wait), marks);
  return made;
}

/** Chips of a call: [[text, kind of chip]]. */
export function marksOf(call) {
  const count = (number, words) => (number > 1 ? `${number} × ${words}` : words);
  return [
    [call.state === "running", "in progress", "good"],
    [call.state === "broken", "broken off", "bad"],
    [call.false_ends, count(call.false_ends, "turn cut off"), "bad"],
    [call.interruptions - call.false_ends > 0, count(call.interruptions - call.false_ends, "interrupted"), "plain"],
    [call.tool_failures, count(call.tool_failures, "tool failed"), "bad"],
    [call.failures, count(call.failures, "engine failed"), "bad"],
  ].flatMap(([is, words, kind]) => (is ? [[words, kind]] : []));
}

/** Start time of a call, in the reader's locale. */
export function when(startedS) {
  return new Date(startedS * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

function element(tag, kind, words = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (words !== "") made.textContent = words;
  return made;
}
