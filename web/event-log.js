// Panel with the events of a call as they pass: the newest EVENTS, each with its JSON.

const EVENTS = 300;

/** One line of the export: seconds since the start of the call, "received" or "sent", the event. */
export function asLine({ atS, sent, event }) {
  return JSON.stringify({ at_s: Number(atS.toFixed(3)), direction: sent ? "sent" : "received", event });
}

/** Records events, and renders them while the panel is open. */
export class EventLog {
  #panel;
  #list;
  #count;
  #records = [];
  #total = 0;

  /** panel: the details element. list, count: elements in it for the events and for their number. */
  constructor(panel, list, count) {
    this.#panel = panel;
    this.#list = list;
    this.#count = count;
    panel.addEventListener("toggle", () => this.#show());
  }

  /** Add an event at `atS` seconds of the call. sent: by this page. */
  add(event, sent, atS) {
    const record = { atS, sent, event };
    this.#total += 1;
    this.#records.push(record);
    if (this.#records.length > EVENTS) this.#records.shift();
    this.#count.textContent = String(this.#total);
    if (!this.#panel.open) return;
    this.#list.append(row(record));
    while (this.#list.children.length > EVENTS) this.#list.children[0].remove();
  }

  /** Remove all events. */
  clear() {
    this.#records = [];
    this.#total = 0;
    this.#count.textContent = "0";
    this.#list.replaceChildren();
  }

  /** The events as JSON Lines. */
  get text() {
    return this.#records.map((record) => `${asLine(record)}\n`).join("");
  }

  #show() {
    this.#list.replaceChildren(...(this.#panel.open ? this.#records.map(row) : []));
  }
}

function row({ atS, sent, event }) {
  const item = document.createElement("li");
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  const time = document.createElement("time");
  time.textContent = atS.toFixed(2);
  const type = document.createElement("code");
  type.textContent = event.type;
  const json = document.createElement("pre");
  json.textContent = JSON.stringify(event, null, 2);
  summary.append(time, ` ${sent ? "sent" : "received"} `, type);
  details.append(summary, json);
  item.append(details);
  return item;
}
