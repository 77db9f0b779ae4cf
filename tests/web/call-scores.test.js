import assert from "node:assert/strict";
import { test } from "node:test";

import { rowsOf } from "../../web/call-scores.js";

test("a score has its unit, the number of its events, and the source of its definition", () => {
  const score = (unit, value) => ({ name: "a score", source: "tau-voice", unit, value, count: 3 });
  const values = [score("s", 1.234), score("share", 0.666), score("per turn", 0.1)].map((one) => rowsOf([one])[0]);
  assert.deepEqual(values.map(([, value]) => value), ["1.23 s", "67 %", "0.10"]);
  assert.deepEqual(values[0], ["a score", "1.23 s", "3", "tau-voice"]);
});
