import assert from "node:assert/strict";
import { test } from "node:test";

import { Line } from "../../web/line.js";
import { droppedError, givenUp, refusalError, unreachableError } from "../../web/messages.js";

/** A line whose calls end, or fail to come about, as `calls` says one by one; waits take no time. */
function line(...calls) {
  const told = [];
  const again = [];
  const made = new Line(
    async (isAgain) => {
      again.push(isAgain);
      const next = calls.shift();
      if (next.fails) throw next.fails;
      return { ended: Promise.resolve(next.ends), hangUp() {} };
    },
    (state, error) => told.push(error ? `${state}: ${error.code}` : state),
    async () => {},
  );
  return { made, told, again };
}

test("a call that is hung up is over, and nothing went wrong", async () => {
  const { made, told } = line({ ends: null });
  await made.dial();
  assert.deepEqual(told, ["connecting", "live", "idle"]);
});

test("a line that drops is dialled again, as one that goes on", async () => {
  const { made, told, again } = line({ ends: droppedError() }, { ends: null });
  await made.dial();
  assert.deepEqual(told, ["connecting", "live", "reconnecting: dropped", "live", "idle"]);
  assert.deepEqual(again, [false, true]);
});

test("a server that does not answer is tried again, and given up in the end", async () => {
  const { made, told } = line(...Array.from({ length: 20 }, () => ({ fails: unreachableError() })));
  await made.dial();
  assert.equal(told.filter((state) => state.startsWith("reconnecting")).length, 7);
  assert.equal(told.at(-1), "idle: unreachable");
});

test("a full server is not pestered", async () => {
  const { made, told } = line({ fails: refusalError(503, "all 20 calls are taken; try again later") });
  await made.dial();
  assert.deepEqual(told, ["connecting", "idle: full"]);
});

test("hanging up while it tries again ends the trying", async () => {
  const { made, told } = line({ ends: droppedError() }, { ends: null });
  const dialled = made.dial();
  made.hangUp();
  await dialled;
  assert.equal(told.at(-1), "idle");
  assert.ok(!told.some((state) => state.startsWith("reconnecting")));
});

test("hanging up while it waits to try again waits for nothing", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] }); // and no time passes
  const told = [];
  const made = new Line(
    async () => {
      throw unreachableError();
    },
    (state) => {
      told.push(state);
      if (state === "reconnecting") setImmediate(() => made.hangUp());
    },
  );
  await made.dial();
  assert.deepEqual(told, ["connecting", "reconnecting", "idle"]);
});

test("hanging up while it connects ends the connecting", async () => {
  const told = [];
  const made = new Line(
    (_, leaving) => new Promise((_, reject) => leaving.addEventListener("abort", () => reject(unreachableError()))),
    (state) => told.push(state),
  );
  const dialled = made.dial();
  made.hangUp();
  await dialled;
  assert.deepEqual(told, ["connecting", "idle"]);
});

test("what is given up is not said to be tried again", () => {
  assert.equal(givenUp(unreachableError()).advice, "Press Talk to try again.");
  assert.equal(givenUp(refusalError(401, "")).advice, refusalError(401, "").advice);
});

test("every refusal says what it is", () => {
  const code = (status, message = "") => refusalError(status, message).code;
  assert.deepEqual([code(401), code(403), code(404), code(400)], ["key", "origin", "webrtc", "refused"]);
  assert.ok(refusalError(503, "the server is starting; try again in a moment").retry);
});
