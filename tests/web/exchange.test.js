import assert from "node:assert/strict";
import { test } from "node:test";

import { exchangeItem, fingerprint, measured, showDetails } from "../../web/exchange.js";
import { element, openPage } from "./fake_page.js";

openPage();

const turn = { turn_id: "a", said: "When is breakfast? ", began_s: 1, ended_s: 2.0, ended_by: "silence", playout: null, end_of_turn: null };
const report = {
  outcome: "completed",
  stages: [{ name: "endpointing", ms: 160, budget_ms: 200 }, { name: "llm_ttft", ms: 40, budget_ms: 100 }],
  wait_ms: 200,
  over_budget: [],
  hidden_ms: 0,
};
const response = { turn_id: "a", written: "At seven.", heard: "At seven.", status: "completed", sound: [[2.25, 3]], report, usage: null, failure: "" };
const line = { key: "b", atS: 1, turn, answers: turn, response, tools: [], hooks: [], requests: [] };
const tool = { name: "order_taxi", outcome: "done", arguments: "{}", output: "ordered", began_s: 2, ended_s: 2.5 };
const hook = { name: "on_turn", place: "shop.py:7", reason: "KeyError" };
const drawn = (told) => exchangeItem(told, () => {});

/** What the page's details show of a line, by the id of the element. */
function details(told) {
  const elements = new Map();
  const $ = (id) => elements.get(id) ?? elements.set(id, element()).get(id);
  showDetails($, told, []);
  return $;
}

test("a line has when it was, what both sides said, and the wait of the report, as log and metrics have it", () => {
  const item = drawn(line);
  assert.deepEqual(item.words("at"), ["0:01"]);
  assert.deepEqual(item.words("spoken"), ["Caller When is breakfast? ", "Agent At seven."]);
  assert.deepEqual(item.words("chip"), ["200 ms"]);
  const unreported = drawn({ ...line, response: { ...response, report: null } });
  assert.deepEqual(unreported.words("chip"), ["250 ms"]); // from the recording
});

test("words that the caller did not hear are struck through", () => {
  const cut = drawn({ ...line, response: { ...response, heard: "At", status: "cancelled" } });
  assert.deepEqual(cut.words("del"), [" seven."]);
  assert.deepEqual(cut.words("chip"), ["200 ms", "interrupted"]);
});

test("a wait over the budget, a response that failed and a tool that failed are marked as bad", () => {
  const late = { ...response, status: "failed", report: { ...report, over_budget: ["total"] } };
  const item = drawn({ ...line, response: late, tools: [{ ...tool, outcome: "failed" }], hooks: [hook] });
  assert.deepEqual(item.words("bad"), ["200 ms", "failed", "order_taxi", "on_turn failed"]);
});

test("a tool that did what it was for is marked as good", () => {
  assert.deepEqual(drawn({ ...line, tools: [tool] }).words("good"), ["order_taxi"]);
});

test("whoever presses a line chooses it", () => {
  const chosen = [];
  const [button] = exchangeItem(line, (told) => chosen.push(told)).all("button");
  button.listeners.click();
  assert.deepEqual(chosen, [line]);
});

test("a line is drawn anew where something of it changed, and only then", () => {
  assert.equal(fingerprint(line), fingerprint({ ...line, atS: 5 }));
  const changes = [{ turn: null }, { response: { ...response, heard: "At" } }, { tools: [tool] }, { hooks: [hook] }];
  for (const change of changes) assert.notEqual(fingerprint(line), fingerprint({ ...line, ...change }));
});

test("without a report nothing was measured", () => {
  assert.equal(measured({ ...line, response: null }), null);
  assert.equal(measured({ ...line, response: { ...response, report: null } }), null);
});

test("what was measured has the server's stages, and the browser's where the page told them", () => {
  const told = measured(line);
  assert.deepEqual([told.id, told.said, told.totalMs, told.heardMs], ["a", turn.said, 200, null]);
  const playout = { line_ms: 5, jitter_ms: 20, output_ms: 30, heard_ms: 260 };
  const heard = measured({ ...line, answers: { ...turn, playout } });
  assert.deepEqual([heard.totalMs, heard.here.length, heard.heardMs], [200, 3, 260]);
});

test("a second response to a turn has the words that it answers", () => {
  assert.equal(measured({ ...line, turn: null }).said, turn.said);
});

test("the details of a turn have its total, its words, and why it ended", () => {
  const $ = details(line);
  assert.deepEqual([$("total").textContent, $("unit").hidden, $("said").textContent], ["200", false, "“When is breakfast?”"]);
  assert.deepEqual([$("waterfall").hidden, $("why").hidden, $("witnesses").hidden], [false, false, true]);
});

test("a prepared text, such as a greeting, has no wait, and an answer to a client's request has its time", () => {
  const stages = [{ name: "synthesis", ms: 3.2, budget_ms: 60 }];
  const greeting = { ...response, turn_id: null, report: { ...report, stages, wait_ms: null } };
  const told = { ...line, turn: null, answers: null };
  const $ = details({ ...told, response: greeting });
  assert.deepEqual([$("total").textContent, $("unit").textContent, $("unit").hidden], ["", "prepared, no wait", false]);
  const asked = { ...greeting, report: { ...greeting.report, stages: [{ name: "llm_ttft", ms: 40, budget_ms: 100 }, ...stages] } };
  const upstream = { ...greeting, report: { ...greeting.report, counts: { prompt_tokens: 90 } } }; // has no time of its first token
  const shown = [asked, upstream].map((one) => details({ ...told, response: one })).map((by) => [by("total").textContent, by("unit").textContent]);
  assert.deepEqual(shown, [["43", "ms to the answer"], ["3.2", "ms to the answer"]]);
});

test("where nothing was measured the wait is the total, and there is no waterfall", () => {
  const $ = details({ ...line, response: { ...response, report: null } });
  assert.deepEqual([$("total").textContent, $("waterfall").hidden, $("chips").hidden], ["250", true, true]);
});

test("what a request waited for in the LLM's queues is told, before ours and in the engine's", () => {
  const $ = details({ ...line, response: { ...response, usage: { gate_s: 0.03, queue_s: 0.012 } } });
  assert.deepEqual($("chips").words("chip"), ["42 ms in the LLM's queues"]);
});

test("the witnesses of a turn's end are told with their sign, but for those that saw nothing", () => {
  const witnesses = { asks: 1.5, comma: -0.75, bias: 0 };
  const $ = details({ ...line, answers: { ...turn, end_of_turn: { probability: 0.7, silence_ms: 160, witnesses } } });
  assert.deepEqual([$("witnesses").words("th"), $("witnesses").words("number")], [["asks", "comma"], ["+1.50", "−0.75"]]);
  assert.deepEqual($("witnesses").all("against").map(({ style }) => [style.width, style.right]), [["25%", "50%"]]);
});

test("tools and hooks have a box each, with how long they took and why they failed", () => {
  const running = { ...tool, outcome: "", ended_s: null };
  const $ = details({ ...line, tools: [tool, running], hooks: [hook] });
  const titles = ["order_taxi: done, 500 ms", "order_taxi: running, no output", "The agent's on_turn failed at shop.py:7"];
  assert.deepEqual($("tools").words("p"), titles);
  assert.deepEqual($("tools").words("h3"), ["Tools"]);
});
