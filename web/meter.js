// Levels of both sides over the last seconds: the caller above the axis, the agent below.

import { decibels } from "./ears.js";

const SPAN_S = 6;
const STEP_S = 0.04;
const QUIETEST_DB = -60;

/** A level from 0 to 1 as a fraction of the meter's height. */
export function height(level) {
  return Math.min(1, Math.max(0, 1 - decibels(level) / QUIETEST_DB));
}

/** Maximum level per step of the last seconds, newest last. */
export class Trace {
  #size = Math.round(SPAN_S / STEP_S);
  #untilS = null;
  values = new Array(this.#size).fill(0);

  /** Add a level. atS: seconds of the audio clock. */
  add(level, atS) {
    this.#untilS ??= atS;
    for (; atS >= this.#untilS; this.#untilS += STEP_S) this.values.push(0);
    if (this.values.length > this.#size) this.values.splice(0, this.values.length - this.#size);
    const newest = this.values.length - 1;
    this.values[newest] = Math.max(this.values[newest], height(level));
  }
}

/** Draws on a canvas during a call; `gauge` is the element with the caller's level for screen readers. */
export class Meter {
  #canvas;
  #gauge;
  #traces = { caller: new Trace(), agent: new Trace() };
  #frame = null;

  constructor(canvas, gauge) {
    this.#canvas = canvas;
    this.#gauge = gauge;
    new ResizeObserver(() => this.#draw()).observe(canvas);
  }

  /** side: "caller" or "agent". */
  hear(side, level, atS) {
    this.#traces[side].add(level, atS);
    this.#frame ??= requestAnimationFrame(() => this.#draw());
  }

  /** Clear all levels. */
  clear() {
    this.#traces = { caller: new Trace(), agent: new Trace() };
    this.#draw();
  }

  #draw() {
    this.#frame = null;
    const { clientWidth: width, clientHeight: tall } = this.#canvas;
    const density = window.devicePixelRatio || 1;
    if (this.#canvas.width !== Math.round(width * density)) this.#canvas.width = Math.round(width * density);
    if (this.#canvas.height !== Math.round(tall * density)) this.#canvas.height = Math.round(tall * density);
    const paint = this.#canvas.getContext("2d");
    paint.setTransform(density, 0, 0, density, 0, 0);
    paint.clearRect(0, 0, width, tall);
    const style = getComputedStyle(this.#canvas);
    paint.fillStyle = style.getPropertyValue("--line");
    paint.fillRect(0, tall / 2 - 0.5, width, 1);
    this.#bars(paint, this.#traces.caller.values, style.getPropertyValue("--caller"), -1);
    this.#bars(paint, this.#traces.agent.values, style.getPropertyValue("--agent"), 1);
    this.#gauge.setAttribute("aria-valuenow", String(Math.round(100 * this.#traces.caller.values.at(-1))));
  }

  #bars(paint, values, colour, direction) {
    const { clientWidth: width, clientHeight: tall } = this.#canvas;
    const step = width / values.length;
    paint.fillStyle = colour;
    values.forEach((value, index) => {
      const length = value * (tall / 2 - 2);
      if (length < 0.5) return;
      const top = direction < 0 ? tall / 2 - 1 - length : tall / 2 + 1;
      paint.fillRect(index * step, top, Math.max(1, step - 1), length);
    });
  }
}
