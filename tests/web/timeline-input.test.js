import assert from "node:assert/strict";
import { test } from "node:test";

import { ZOOM, listenToTimeline } from "../../web/timeline-input.js";

/** A canvas of 100 pixels, and what is done on it. */
class Canvas {
  #listeners = {};

  addEventListener(type, listener) {
    this.#listeners[type] = listener;
  }

  setPointerCapture() {}

  getBoundingClientRect() {
    return { left: 0, width: 100 };
  }

  fire(type, fields) {
    const event = { type, currentTarget: this, prevented: false, ...fields };
    event.preventDefault = () => (event.prevented = true);
    this.#listeners[type](event);
    return event;
  }
}

/** A timeline that shows 10 of 100 s, and the acts that come of what is done on it. */
function timeline() {
  const lanes = new Canvas();
  const whole = new Canvas();
  const done = [];
  const act = (name) => (...given) => done.push([name, ...given]);
  const acts = Object.fromEntries(["look", "zoom", "seek", "press", "next", "play"].map((name) => [name, act(name)]));
  listenToTimeline(lanes, whole, () => ({ view: { since: 20, until: 30 }, lengthS: 100, atS: 22 }), acts);
  return { lanes, whole, done };
}

test("an arrow goes five seconds on, with shift one", () => {
  const { lanes, done } = timeline();
  lanes.fire("keydown", { key: "ArrowRight" });
  lanes.fire("keydown", { key: "ArrowLeft", shiftKey: true });
  assert.deepEqual(done, [["seek", 27], ["seek", 21]]);
});

test("a key with ctrl is the browser's", () => {
  const { lanes, done } = timeline();
  const event = lanes.fire("keydown", { key: "+", ctrlKey: true });
  assert.deepEqual([done, event.prevented], [[], false]);
});

test("plus zooms in", () => {
  const { lanes, done } = timeline();
  lanes.fire("keydown", { key: "+" });
  assert.deepEqual(done, [["zoom", 1 / ZOOM]]);
});

test("the wheel upright scrolls the page", () => {
  const { lanes, done } = timeline();
  const event = lanes.fire("wheel", { deltaX: 0, deltaY: 50 });
  assert.deepEqual([done, event.prevented], [[], false]);
});

test("the wheel sideways moves what is shown", () => {
  const { lanes, done } = timeline();
  lanes.fire("wheel", { deltaX: 50, deltaY: 0 });
  assert.deepEqual(done, [["look", { since: 25, until: 35 }]]);
});

test("a press that does not move goes to its place", () => {
  const { lanes, done } = timeline();
  lanes.fire("pointerdown", { clientX: 50 });
  lanes.fire("pointermove", { clientX: 52 });
  lanes.fire("pointerup", { clientX: 52 });
  assert.deepEqual(done.map(([name]) => name), ["press"]);
});

test("a press that moves drags, and goes nowhere", () => {
  const { lanes, done } = timeline();
  lanes.fire("pointerdown", { clientX: 50 });
  lanes.fire("pointermove", { clientX: 30 });
  lanes.fire("pointerup", { clientX: 30 });
  assert.deepEqual(done[0], ["look", { since: 22, until: 32 }]);
  assert.ok(done.every(([name]) => name === "look"));
});

test("a press on the whole call shows what is around it", () => {
  const { whole, done } = timeline();
  whole.fire("pointerdown", { clientX: 60 });
  assert.deepEqual(done, [["look", { since: 55, until: 65 }]]);
});
