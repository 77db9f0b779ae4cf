import assert from "node:assert/strict";
import { test } from "node:test";

import { spoken } from "../../web/conversation.js";
import { Ears } from "../../web/ears.js";
import { LiveEvents, liveRequest, typedLive } from "../../web/live.js";
import { activity } from "../../web/status.js";
import { STAGES, bars, makeTurn, totalName, totalText } from "../../web/turns.js";

const words = (side, delta) => ({ type: `session.${side}_transcript.delta`, delta, start_ms: 0, end_ms: 1 });

/** What the page shows after these events. */
function shown(...events) {
  let [entries, doing] = [[], "listening"];
  const live = new LiveEvents((event) => {
    entries = spoken(entries, event);
    doing = activity(doing, event);
  });
  for (const event of events) live.take(event);
  const during = doing;
  live.end();
  return { texts: entries.map(({ role, text, state }) => [role, text, state]), during, after: doing };
}

test("both sides are a transcript of messages", () => {
  const { texts, during, after } = shown(
    { type: "session.started" },
    words("output", "Hello."),
    words("input", " A tuna,"),
    words("input", " please."),
    words("output", " One tuna."),
  );
  assert.deepEqual(texts, [
    ["assistant", "Hello.", "done"],
    ["user", "A tuna, please.", "done"],
    ["assistant", "One tuna.", "done"],
  ]);
  assert.equal(during, "speaking");
  assert.equal(after, "listening");
});

test("the caller's words show that the caller speaks", () => {
  assert.equal(shown(words("input", "One")).during, "hearing");
});

test("a request has agent, voice and the newest messages of the conversation so far", () => {
  const items = Array.from({ length: 130 }, (_, at) => ({ id: String(at), type: "message", role: "user", content: [] }));
  const { session, transport } = liveRequest("v=0", "porter", "alba", items);
  assert.equal(session.model, "porter");
  assert.equal(session.audio.output.voice, "alba");
  assert.equal(session.input.length, 128);
  assert.deepEqual(Object.keys(session.input[0]), ["role", "content"]);
  assert.deepEqual(transport, { type: "webrtc", sdp: "v=0" });
  assert.equal(liveRequest("v=0", "", "", []).session.input, undefined);
});

/** The reports of these events, when the page measured these waits. */
function reports(waits, ...events) {
  const found = [];
  const live = new LiveEvents((event) => event.type === "voiceagent.latency" && found.push(event), () => waits.shift() ?? null);
  for (const event of events) live.take(event);
  live.end();
  return found;
}

test("the answer to the caller's words has the wait that the page measured", () => {
  const [report, ...more] = reports([640], words("input", "A tuna."), words("output", "One tuna."));
  assert.equal(more.length, 0);
  const turn = makeTurn(report, { jitterMs: null, outputMs: null, lineMs: null }, null, "A tuna.", "");
  assert.deepEqual([turn.waitMs, turn.spoken, totalText(turn), totalName(turn)], [640, true, "640", "ms wait"]);
  assert.deepEqual(bars(turn).map(({ name }) => [name, STAGES[name].label]), [["whole", "Wait"]]);
});

test("a greeting, and an answer whose wait is unknown, have no report", () => {
  assert.deepEqual(reports([640], words("output", "Hello.")), []);
  assert.deepEqual(reports([], words("input", "A tuna."), words("output", "One tuna.")), []);
});

test("the wait is from the caller's last voiced audio to the agent's first, once an answer", () => {
  const ears = new Ears();
  for (let at = 0; at < 40; at++) {
    ears.caller(at >= 10 && at < 20 ? 0.2 : 0.0001, at / 10);
    ears.agent(at >= 25 && at < 36 ? 0.2 : 0.0001, at / 10);
  }
  assert.ok(Math.abs(ears.takeLatestWait() - 600) < 1);
  assert.equal(ears.takeLatestWait(), null);
});

test("a typed message is context that the agent answers", () => {
  const [event] = typedLive("five");
  assert.deepEqual([event.type, event.delegation_id], ["session.commentary.append", null]);
  assert.match(event.content, /five/);
});
