import assert from "node:assert/strict";
import { test } from "node:test";

import { EventLog } from "../../web/event-log.js";
import { element, openPage } from "./fake_page.js";

openPage();

function opened(open) {
  const panel = Object.assign(element("details"), { open });
  const [list, count] = [element("ol"), element("span")];
  return { panel, list, count, log: new EventLog(panel, list, count) };
}

test("events are counted, and drawn only while the panel is open", () => {
  const { panel, list, count, log } = opened(false);
  log.add({ type: "session.created" }, false, 0.1);
  assert.deepEqual([count.textContent, list.children.length], ["1", 0]);
  panel.open = true;
  panel.listeners.toggle();
  log.add({ type: "response.create" }, true, 2.345);
  assert.deepEqual(list.words("code"), ["session.created", "response.create"]);
  assert.deepEqual(list.words("summary"), ["0.10 received session.created", "2.35 sent response.create"]);
});

test("the panel keeps the newest 300 events", () => {
  const { list, count, log } = opened(true);
  for (let number = 0; number < 310; number += 1) log.add({ type: `event_${number}` }, false, number);
  assert.deepEqual([count.textContent, list.children.length, list.words("code")[0]], ["310", 300, "event_10"]);
  log.clear();
  assert.deepEqual([count.textContent, list.children.length, log.text], ["0", 0, ""]);
});

test("events are saved one a line, with time and direction", () => {
  const { log } = opened(false);
  log.add({ type: "error", error: { message: "no" } }, false, 1.23456);
  assert.deepEqual(JSON.parse(log.text), { at_s: 1.235, direction: "received", event: { type: "error", error: { message: "no" } } });
});
