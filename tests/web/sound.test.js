import assert from "node:assert/strict";
import { test } from "node:test";

import { reading, share } from "../../web/browser-share.js";
import { Ears } from "../../web/ears.js";
import { Trace, height } from "../../web/meter.js";
import { activity } from "../../web/status.js";

const STEP_S = 0.01;

/** Levels one after the other, 10 ms each, from a time on. */
function hear(listen, levels, fromS) {
  levels.forEach((level, index) => listen(level, fromS + index * STEP_S));
}

const steady = (level, seconds) => new Array(Math.round(seconds / STEP_S)).fill(level);

test("the wait is from the caller's last sound to the agent's first", () => {
  const ears = new Ears();
  hear((l, t) => ears.caller(l, t), [...steady(0, 0.5), ...steady(0.1, 1), ...steady(0, 0.5)], 0);
  ears.replyBegins(true);
  hear((l, t) => ears.agent(l, t), [...steady(0, 0.25), ...steady(0.1, 0.5)], 1.5);
  assert.ok(Math.abs(ears.waitMs - 260) < 1, `${ears.waitMs} ms`);
});

test("steady noise is not taken for the caller", () => {
  const ears = new Ears();
  hear((l, t) => ears.caller(l, t), [...steady(0.01, 8), ...steady(0.2, 1), ...steady(0.01, 0.5)], 0);
  ears.replyBegins(true);
  ears.agent(0, 9.4);
  ears.agent(0.1, 9.5);
  assert.ok(Math.abs(ears.waitMs - 510) < 15, `${ears.waitMs} ms`);
});

test("the fading of the caller's last word is not their voice", () => {
  const ears = new Ears();
  const fading = steady(0.1, 0.2).map((level, step) => level * 10 ** (-step / 10)); // 2 dB each 10 ms
  hear((l, t) => ears.caller(l, t), [...steady(0, 0.5), ...steady(0.1, 1), ...fading, ...steady(0, 0.5)], 0);
  ears.replyBegins(true);
  ears.agent(0, 1.9);
  ears.agent(0.1, 2);
  assert.ok(Math.abs(ears.waitMs - 420) < 1, `${ears.waitMs} ms`);
});

test("an answer to typed words has no wait that could be heard", () => {
  const ears = new Ears();
  ears.caller(0.2, 0);
  ears.replyBegins(false);
  ears.agent(0.2, 1);
  assert.equal(ears.waitMs, null);
});

test("the browser's share is the mean since the last reading", () => {
  const inbound = (delay, count) => ({
    type: "inbound-rtp",
    kind: "audio",
    jitterBufferDelay: delay,
    jitterBufferEmittedCount: count,
  });
  const pair = { type: "candidate-pair", nominated: true, state: "succeeded", currentRoundTripTime: 0.02 };
  const between = share(reading([inbound(10, 1000)]), reading([inbound(50, 2000), pair]));
  assert.deepEqual(between, { jitterMs: 40, outputMs: null, lineMs: 10 });
});

test("a meter keeps the loudest of each step, and a silence as long as it was", () => {
  const trace = new Trace();
  trace.add(0.5, 0);
  trace.add(0.1, 0.01);
  trace.add(0, 0.4);
  assert.equal(trace.values.filter((value) => value > 0).length, 1);
  assert.equal(trace.values.indexOf(height(0.5)), trace.values.length - 11);
});

test("a level is a share of the meter, whatever comes", () => {
  assert.deepEqual([height(0), height(1), height(8)], [0, 1, 1]);
});

test("the status follows the call", () => {
  const after = (...types) => types.reduce((doing, type) => activity(doing, { type, transcript: "hi" }), "listening");
  assert.equal(after("input_audio_buffer.speech_started"), "hearing");
  assert.equal(after("input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped"), "thinking");
  assert.equal(after("response.created", "output_audio_buffer.started"), "speaking");
  assert.equal(after("output_audio_buffer.started", "output_audio_buffer.stopped"), "listening");
  assert.equal(after("input_audio_buffer.speech_started", "output_audio_buffer.cleared"), "hearing");
});
