// The transcript of both sides on the page, with tool calls.

import { argumentsText } from "./conversation.js";

const SPEAKERS = { user: "You", assistant: "Agent", tool: "Tool" };
const NEAR_END_PX = 60;

/** Renders entries (see conversation.js) into a list, updating only changes. */
export class Transcript {
  #list;
  #drawn = new Map();

  constructor(list) {
    this.#list = list;
  }

  /** Show these entries, except those without a word so far. */
  draw(all) {
    const entries = all.filter(hasContent);
    const scroller = this.#list.parentElement;
    const follows = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END_PX;
    const ids = new Set(entries.map((entry) => entry.id));
    for (const [id, { row }] of this.#drawn) {
      if (ids.has(id)) continue;
      row.remove();
      this.#drawn.delete(id);
    }
    entries.forEach((entry, index) => this.#drawOne(entry, index));
    this.#list.dataset.empty = String(entries.length === 0);
    if (follows) scroller.scrollTop = scroller.scrollHeight;
  }

  /** index: place among the rows. Words may come later than those of an entry after them. */
  #drawOne(entry, index) {
    const known = this.#drawn.get(entry.id);
    if (known?.entry === entry) return;
    const row = known?.row ?? document.createElement("li");
    if (!known) this.#list.insertBefore(row, this.#list.children[index] ?? null);
    this.#drawn.set(entry.id, { entry, row });
    row.className = `entry ${entry.role} ${entry.state}`;
    row.setAttribute("aria-busy", String(entry.state === "listening")); // read aloud once, when complete
    row.replaceChildren(speaker(entry), entry.role === "tool" ? toolCall(entry) : words(entry));
  }
}

function hasContent({ role, text, cut, state }) {
  return role === "tool" || text.trim() !== "" || cut !== "" || state === "failed";
}

function speaker(entry) {
  const name = document.createElement("span");
  name.className = "speaker";
  name.textContent = SPEAKERS[entry.role];
  return name;
}

function words(entry) {
  const text = document.createElement("p");
  if (entry.state === "failed") {
    text.append(note("no transcript: recognition failed"));
  } else {
    text.append(entry.text);
  }
  if (entry.cut !== "") {
    const cut = document.createElement("del");
    cut.title = "Cut off: the caller did not hear this";
    cut.append(hiddenWords(" (not heard:) "), entry.cut);
    text.append(cut);
  }
  return text;
}

function toolCall({ name, args, output, state }) {
  const text = document.createElement("p");
  const call = document.createElement("code");
  call.textContent = `${name}(${argumentsText(args)})`;
  text.append(call, note(state === "done" ? ` ${output}` : " …"));
  return text;
}

function note(words) {
  const element = document.createElement("span");
  element.className = "note";
  element.textContent = words;
  return element;
}

/** For screen readers, which do not announce struck-through text. */
function hiddenWords(words) {
  const element = document.createElement("span");
  element.className = "only-read";
  element.textContent = words;
  return element;
}
