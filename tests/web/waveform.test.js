import assert from "node:assert/strict";
import { test } from "node:test";

import { PEAK_S, Waveform } from "../../web/waveform.js";

const random = (seed) => () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
const peaks = (count, next) => Uint8Array.from({ length: 2 * count }, () => Math.floor(256 * next()));

/** The loudest of each column, looked for one by one. */
function plainly(bytes, side, since, until, columns) {
  const part = (until - since) / PEAK_S / columns;
  return Array.from({ length: columns }, (_, column) => {
    const from = since / PEAK_S + column * part;
    let loudest = 0;
    for (let at = Math.max(0, Math.floor(from)); at < Math.min(bytes.length / 2, Math.ceil(from + part)); at += 1) {
      loudest = Math.max(loudest, bytes[2 * at + side]);
    }
    return loudest / 255;
  });
}

test("a part that is seen closely shows each peak", () => {
  const bytes = peaks(1000, random(1));
  const waveform = new Waveform();
  waveform.append(bytes);
  const near = waveform.columns(1, 2, 2 + 50 * PEAK_S, 50);
  assert.deepEqual([...near].map((value) => Math.round(value * 255)), [...bytes.subarray(200, 300)].filter((_, at) => at % 2));
});

test("a whole call shows nothing quieter than it was, and no loud moment too much", () => {
  const next = random(2);
  const waveform = new Waveform();
  const bytes = new Uint8Array(2 * 20_000);
  for (const at of [10, 7_777, 19_999]) bytes[2 * at] = 255;
  waveform.append(bytes);
  const columns = 300 + Math.floor(100 * next());
  const shown = waveform.columns(0, 0, 20_000 * PEAK_S, columns);
  plainly(bytes, 0, 0, 20_000 * PEAK_S, columns).forEach((value, at) => assert.ok(shown[at] >= value - 1e-6));
  assert.ok(shown.filter((value) => value > 0).length <= 6);
});

test("what comes in pieces is as what comes at once", () => {
  const next = random(3);
  const bytes = peaks(3000, next);
  const whole = new Waveform();
  whole.append(bytes);
  const pieces = new Waveform();
  for (let at = 0; at < bytes.length; ) {
    const until = Math.min(bytes.length, at + 2 * Math.ceil(200 * next()));
    pieces.append(bytes.subarray(at, until));
    at = until;
  }
  assert.equal(pieces.bytes, whole.bytes);
  for (const [since, until] of [[0, 60], [10, 12], [33.3, 58.1]]) {
    assert.deepEqual(pieces.columns(0, since, until, 97), whole.columns(0, since, until, 97));
  }
});

test("half a peak waits for its other half to be asked for again", () => {
  const waveform = new Waveform();
  waveform.append(new Uint8Array([1, 2, 3]));
  assert.equal(waveform.bytes, 2);
});

test("beyond the end there is silence", () => {
  const waveform = new Waveform();
  assert.deepEqual([...waveform.columns(0, 0, 1, 3)], [0, 0, 0]);
  waveform.append(new Uint8Array([255, 255]));
  assert.deepEqual([...waveform.columns(1, 1, 2, 2)], [0, 0]);
});
