import assert from "node:assert/strict";
import { test } from "node:test";

import { clock, emptyCall, exchanges, heardOf, lengthOf, providerData, merged, moved, rulerTicks, showing, waitOf, whyOf, zoomed } from "../../web/timeline.js";

const turn = (turn_id, began_s, more = {}) => ({
  turn_id, began_s, ended_s: began_s + 1, decided_s: began_s + 1.3, ended_by: "silence", said: "Is there a pool?", ...more,
});
const response = (response_id, turn_id, from, more = {}) => ({
  response_id, turn_id, began_s: from - 0.1, written: "Yes, there is.", heard: "Yes, there is.", sound: [[from, from + 2]], status: "completed", report: null, ...more,
});
const told = (more) => ({ call: {}, turns: [], responses: [], tools: [], stalls: [], failed_hooks: [], requests: [], ...more });
const call = (more) => merged(emptyCall(), told(more));

test("what is told again takes the place of what was told before", () => {
  const before = call({ turns: [turn("a", 1, { said: "Is" })], call: { seconds: 1 } });
  const after = merged(before, told({ turns: [turn("a", 1)], call: { seconds: 3 } }));
  assert.deepEqual([after.turns.size, after.turns.get("a").said, after.call.seconds], [1, "Is there a pool?", 3]);
});

test("what the phone provider reported of a call is named, and nothing where there is none", () => {
  assert.equal(providerData({ provider_data: { line_call: "CA12", from: "+15550100" } }), "phone provider: line_call CA12, from +15550100");
  assert.deepEqual([providerData({ provider_data: {} }), providerData({})], ["", ""]);
});

test("a turn has a line with its response, in order of time", () => {
  const lines = exchanges(call({
    turns: [turn("b", 10), turn("a", 1)],
    responses: [response("hello", null, 0.2), response("rb", "b", 12), response("ra", "a", 3)],
  }));
  assert.deepEqual(lines.map(({ turn: said, response: answer }) => [said?.turn_id, answer?.response_id]), [
    [undefined, "hello"], ["a", "ra"], ["b", "rb"],
  ]);
});

test("a second response to a turn has a line of its own, with the tools that it used", () => {
  const lines = exchanges(call({
    turns: [turn("a", 1)],
    responses: [response("one", "a", 3), response("two", "a", 7)],
    tools: [{ call_id: "t", response_id: "two", name: "book" }],
  }));
  assert.deepEqual(lines.map((line) => [line.turn?.turn_id, line.tools.length]), [["a", 0], [undefined, 1]]);
  assert.equal(lines[1].answers.turn_id, "a");
});

test("a turn that nobody answered is there", () => {
  const [line] = exchanges(call({ turns: [turn("a", 1)] }));
  assert.deepEqual([line.turn.turn_id, line.response], ["a", null]);
});

test("a hook that failed stands in the line that had begun by then, or in one of its own", () => {
  const hooks = [{ at_s: 0.5, name: "on_call_began" }, { at_s: 2.5, name: "on_turn" }];
  const lines = exchanges(call({ turns: [turn("a", 1), turn("b", 9)], failed_hooks: hooks }));
  assert.deepEqual(lines.map((line) => line.hooks.map(({ name }) => name)), [["on_call_began"], ["on_turn"], []]);
});

test("a request of a sideband stands in the line that had begun by then, the own client's are left out", () => {
  const requests = [
    { at_s: 0.5, request: "session.update", sideband: 1 }, { at_s: 2.5, request: "response.create", sideband: 2 },
    { at_s: 2.6, request: "response.create", sideband: 0 },
  ];
  const lines = exchanges(call({ turns: [turn("a", 1)], requests }));
  assert.deepEqual(lines.map((line) => line.requests.map(({ sideband }) => sideband)), [[1], [2]]);
});

test("what was not heard is told apart, once it is known", () => {
  const cut = response("r", "a", 3, { heard: "Yes," });
  assert.deepEqual(heardOf(cut), { heard: "Yes,", unheard: " there is." });
  assert.deepEqual(heardOf({ ...cut, heard: null }), { heard: "Yes, there is.", unheard: "" });
  assert.deepEqual(heardOf({ ...cut, status: "in_progress" }), { heard: "Yes, there is.", unheard: "" });
  assert.deepEqual(heardOf({ ...cut, status: "hung_up" }), { heard: "Yes,", unheard: " there is." });
  assert.deepEqual(heardOf({ ...cut, heard: "" }), { heard: "", unheard: "Yes, there is." });
});

test("a wait is from the caller's last sound to the agent's first, and typed words have none", () => {
  const wait = (said, answer) => waitOf(exchanges(call({ turns: [said], responses: [answer] }))[0]);
  assert.deepEqual(wait(turn("a", 1), response("r", "a", 3)), { from: 2, until: 3 });
  assert.equal(wait(turn("a", 1, { ended_by: "typed" }), response("r", "a", 3)), null);
  assert.equal(wait(turn("a", 1), response("r", "a", 3, { sound: [] })), null);
});

test("a call is as long as what was heard of it", () => {
  assert.equal(lengthOf(call({ call: { seconds: 4 }, responses: [response("r", "a", 5)] }), 3), 7);
  assert.equal(lengthOf(call({ call: { seconds: 4 } }), 9), 9);
});

test("zooming leaves what is looked at where it is, within the call", () => {
  const near = zoomed({ since: 0, until: 100 }, 0.5, 25, 100);
  assert.deepEqual(near, { since: 12.5, until: 62.5 });
  assert.deepEqual(zoomed(near, 100, 25, 100), { since: 0, until: 100 });
  assert.equal(zoomed(near, 1e-9, 25, 100).until - zoomed(near, 1e-9, 25, 100).since, 1);
});

test("nothing beyond the call's ends is shown", () => {
  assert.deepEqual(moved({ since: 10, until: 20 }, -50, 100), { since: 0, until: 10 });
  assert.deepEqual(moved({ since: 10, until: 20 }, 500, 100), { since: 90, until: 100 });
  assert.deepEqual(moved({ since: 0, until: 20 }, 5, 10), { since: 0, until: 10 });
});

test("what is played is in sight", () => {
  const view = { since: 10, until: 20 };
  assert.equal(showing(view, 15, 100), view);
  const { since, until } = showing(view, 42, 100);
  assert.ok(since < 42 && 42 < until);
  assert.equal(until - since, 10);
});

test("the ruler has round numbers, and no more than fit", () => {
  for (const shown of [1, 7, 59, 240, 3600, 20_000]) {
    const { step, ticks } = rulerTicks({ since: 3, until: 3 + shown }, 12);
    assert.ok(ticks.length <= 13);
    for (const at of ticks) assert.ok(Math.abs(at / step - Math.round(at / step)) < 1e-9);
  }
});

test("times are read as a clock", () => {
  assert.deepEqual([clock(0), clock(61.99), clock(3_723.5, 1), clock(59.96, 1), clock(-1)], ["0:00", "1:01", "1:02:03.5", "0:59.9", "0:00"]);
});

test("why a turn ended when it did is told with what it waited for", () => {
  const decision = { probability: 0.88, silence_ms: 160, awaited_ms: 0 };
  assert.equal(whyOf({ ended_by: "upstream", decided_s: 2 }), "The realtime backend ended the turn.");
  const ended = { ended_by: "silence", ended_s: 2, settled_s: 2.1, decided_s: 2.26, end_of_turn: decision };
  assert.equal(whyOf(ended), "By silence, 260 ms after its last audio: end-of-turn probability 88 %, which requires 160 ms of silence.");
  assert.match(whyOf({ ...ended, settled_s: 2.62, decided_s: 2.63 }), /final transcript came 620 ms after that audio\.$/);
  assert.match(whyOf({ ...ended, end_of_turn: { ...decision, awaited_ms: 400 } }), /up to 400 ms more, while its response had no audio/);
});
