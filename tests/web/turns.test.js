import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bars,
  exported,
  hereMs,
  makeTurn,
  percentile,
  scaleOf,
  showMs,
  summary,
  ticks,
} from "../../web/turns.js";

const UNKNOWN = { jitterMs: null, outputMs: null, lineMs: null };
const stage = (name, ms, budget_ms = null, hidden_ms = 0) => ({ name, ms, budget_ms, hidden_ms });

function report(stages, more = {}) {
  return {
    turn_id: "item_1",
    outcome: "completed",
    wait_ms: stages[0].name === "endpointing" ? stages.reduce((sum, { ms }) => sum + ms, 0) : null,
    total_ms: stages.reduce((sum, { ms }) => sum + ms, 0),
    budget_ms: 450,
    hidden_ms: stages.reduce((sum, { hidden_ms }) => sum + hidden_ms, 0),
    over_budget: [],
    stages,
    counts: {},
    ...more,
  };
}

const turnOf = (stages, browser = UNKNOWN, heardMs = null) => makeTurn(report(stages), browser, heardMs, "", "");

test("the browser's parts come after the wait and do not change it: log, metrics and kept call have the same number", () => {
  const turn = turnOf([stage("endpointing", 200), stage("playout", 1)], { jitterMs: 40, outputMs: 10, lineMs: 2 });
  assert.deepEqual(bars(turn).map(({ name }) => name), ["endpointing", "playout", "line", "jitter", "output"]);
  assert.deepEqual([turn.waitMs, turn.totalMs, hereMs(turn)], [201, 201, 52]);
});

test("the server's estimate of the network is part of the wait, also where the browser has figures of its own", () => {
  const stages = [stage("endpointing", 200), stage("network", 60, 50)];
  const names = (turn) => turn.stages.map(({ name }) => name);
  const known = makeTurn(report(stages, { over_budget: ["network"] }), { jitterMs: 40, outputMs: 10, lineMs: 2 }, null, "", "");
  assert.deepEqual(names(known), ["endpointing", "network"]);
  const line = bars(known).find(({ name }) => name === "line");
  assert.ok(Math.abs(line.start * scaleOf(known) - 200) < 1e-6, "they begin where the server sent");
  assert.deepEqual([known.waitMs, known.overBudget], [260, ["network"]]);
  assert.deepEqual(names(turnOf(stages)), ["endpointing", "network"]);
});

test("bars follow one another and end where the turn ends", () => {
  const turn = turnOf([stage("endpointing", 200), stage("llm_ttft", 50), stage("playout", 10)]);
  const drawn = bars(turn);
  drawn.slice(1).forEach((bar, index) => {
    assert.ok(Math.abs(bar.start - drawn[index].start - drawn[index].length) < 1e-9);
  });
  const last = drawn.at(-1);
  assert.ok(Math.abs((last.start + last.length) * scaleOf(turn) - 260) < 1e-6);
});

test("work done ahead is drawn inside the pause and ends with it", () => {
  const turn = turnOf([stage("endpointing", 200), stage("llm_ttft", 0, 100, 40), stage("synthesis", 0, 60, 30)]);
  const [, llm, voice] = bars(turn);
  const scaleMs = scaleOf(turn);
  assert.ok(Math.abs(llm.ghost.start * scaleMs - 130) < 1e-6);
  assert.ok(Math.abs((voice.ghost.start + voice.ghost.length) * scaleMs - 200) < 1e-6);
});

test("work done ahead of a typed turn has no place to be drawn outside the scale", () => {
  for (const bar of bars(turnOf([stage("llm_ttft", 10, null, 40)]))) {
    assert.ok(bar.ghost.start >= 0 && bar.ghost.length >= 0);
  }
});

test("a stage over its budget is marked, one that meets it is not", () => {
  const [met, broke] = bars(turnOf([stage("endpointing", 230, 230), stage("recognition", 61, 60)]));
  assert.deepEqual([met.over, broke.over], [false, true]);
});

test("the scale holds the turn and its budget", () => {
  assert.ok(scaleOf(turnOf([stage("endpointing", 2000)])) > 2000);
  assert.ok(scaleOf(turnOf([stage("endpointing", 10)])) > 450);
});

test("percentiles are nearest rank, as the server's", () => {
  assert.equal(percentile([3, 1, 2, 4], 50), 2);
  assert.equal(percentile([3, 1, 2, 4], 95), 4);
  assert.equal(percentile([], 50), null);
});

test("a history counts spoken turns that were answered", () => {
  const spoken = turnOf([stage("endpointing", 200)], UNKNOWN, 260);
  const typed = turnOf([stage("llm_ttft", 20)]);
  assert.equal(typed.waitMs, null);
  const failed = makeTurn(report([stage("endpointing", 900)], { outcome: "failed" }), UNKNOWN, null, "", "");
  const { turns, wait, heard, stages } = summary([spoken, typed, failed]);
  assert.equal(turns, 1);
  assert.equal(wait.p95, 200);
  assert.equal(heard.p50, 260);
  assert.deepEqual(Object.keys(stages), ["endpointing"]);
});

test("an export has the turns, their summary and when it was made", () => {
  const turn = turnOf([stage("endpointing", 200)]);
  const saved = JSON.parse(JSON.stringify(exported([turn], { version: "1" }, new Date(0))));
  assert.equal(saved.exported_at, "1970-01-01T00:00:00.000Z");
  assert.equal(saved.turns[0].stages[0].name, "endpointing");
  assert.equal(saved.summary.wait.p50, 200);
});

test("milliseconds are short to read", () => {
  assert.deepEqual([showMs(260.4), showMs(2.04), showMs(0), showMs(null)], ["260", "2.0", "0", "–"]);
});

test("the scale of a turn of any length has room for its ticks", () => {
  for (const scaleMs of [300, 800, 1_500, 2_500, 8_000, 34_500, 120_000]) {
    const found = ticks(scaleMs);
    assert.ok(found.length >= 2 && found.length <= 9, `${found.length} ticks of ${scaleMs}`);
  }
});
