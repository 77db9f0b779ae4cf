import assert from "node:assert/strict";
import { test } from "node:test";

import { spoken } from "../../web/conversation.js";
import { LiveEvents, liveRequest, typedLive } from "../../web/live.js";
import { activity } from "../../web/status.js";

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

test("a typed message is context that the agent answers", () => {
  const [event] = typedLive("five");
  assert.deepEqual([event.type, event.delegation_id], ["session.commentary.append", null]);
  assert.match(event.content, /five/);
});
