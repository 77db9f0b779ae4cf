// Draws a call's timeline: both sides' audio, the transcript, waits, tools, stalls, and the position.

import { clock, heardOf, rulerTicks, visible, waitOf } from "./timeline.js";

const RULER = 22;
const WAVE = 62;
const WORDS = 24;
const MARKS = 26;
const CALLER = 0;
const AGENT = 1;
/** Top of each lane. */
const TOP = { caller: RULER, callerWords: RULER + WAVE, agent: RULER + WAVE + WORDS, agentWords: RULER + 2 * WAVE + WORDS, marks: RULER + 2 * (WAVE + WORDS) };
export const HEIGHT = TOP.marks + MARKS;
const WHOLE = 38;
const PIXELS_A_TICK = 76;

/** Colours of the page's scheme, by name. */
function palette(element) {
  const style = getComputedStyle(element);
  return new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${name}`).trim() });
}

/** Fit a canvas to its box, in device pixels; null while it is hidden. */
function prepared(canvas, height) {
  const { width } = canvas.parentElement.getBoundingClientRect();
  if (width < 1) return null;
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const paint = canvas.getContext("2d");
  paint.setTransform(scale, 0, 0, scale, 0, 0);
  paint.clearRect(0, 0, width, height);
  paint.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  paint.textBaseline = "middle";
  return { paint, width, ink: palette(canvas) };
}

/** scene: {model, lines, waveform, view, atS, chosen}; lines are those of `exchanges`. */
export function drawLanes(canvas, scene) {
  const made = prepared(canvas, HEIGHT);
  if (!made) return;
  const { paint, width, ink } = made;
  const { view, waveform, lines, model, atS, chosen } = scene;
  const x = (seconds) => ((seconds - view.since) / (view.until - view.since)) * width;
  drawRuler(paint, ink, view, width, x);
  const shown = visible(lines, view, (line) => line.atS - 30, (line) => line.response?.sound.at(-1)?.[1] ?? line.answers?.decided_s ?? line.atS);
  for (const line of shown) {
    if (line.key === chosen) drawChosen(paint, ink, line, x);
    drawWait(paint, ink, line, x);
  }
  drawWave(paint, waveform, CALLER, view, width, TOP.caller, WAVE, ink.caller);
  drawWave(paint, waveform, AGENT, view, width, TOP.agent, WAVE, ink.agent);
  for (const line of shown) drawWords(paint, ink, line, x);
  for (const tool of model.tools.values()) drawTool(paint, ink, tool, x, width);
  for (const { at_s: stalledS, lag_ms: lagMs } of model.stalls.values()) {
    if (stalledS < view.since - 5 || stalledS > view.until) continue;
    paint.fillStyle = ink.over;
    paint.fillRect(x(stalledS), TOP.marks + 15, Math.max(3, x(stalledS + lagMs / 1000) - x(stalledS)), 8);
  }
  drawHead(paint, ink, x(atS), HEIGHT);
}

/** Draw the whole call as a strip, with the visible part marked. */
export function drawWhole(canvas, { waveform, view, lengthS, atS }) {
  const made = prepared(canvas, WHOLE);
  if (!made) return;
  const { paint, width, ink } = made;
  const all = { since: 0, until: lengthS };
  drawWave(paint, waveform, CALLER, all, width, 0, WHOLE / 2, ink.caller);
  drawWave(paint, waveform, AGENT, all, width, WHOLE / 2, WHOLE / 2, ink.agent);
  const from = (view.since / lengthS) * width;
  const to = (view.until / lengthS) * width;
  paint.fillStyle = ink.ground;
  paint.globalAlpha = 0.6;
  paint.fillRect(0, 0, from, WHOLE);
  paint.fillRect(to, 0, width - to, WHOLE);
  paint.globalAlpha = 1;
  paint.strokeStyle = ink.soft;
  paint.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), WHOLE - 1);
  drawHead(paint, ink, (atS / lengthS) * width, WHOLE);
}

function drawRuler(paint, ink, view, width, x) {
  const { step, ticks } = rulerTicks(view, Math.max(2, width / PIXELS_A_TICK));
  paint.textAlign = "left";
  for (const at of ticks) {
    paint.fillStyle = ink.line;
    paint.fillRect(Math.round(x(at)), 0, 1, HEIGHT);
    paint.fillStyle = ink.soft;
    paint.fillText(clock(at, step < 1 ? 1 : 0), x(at) + 4, RULER / 2);
  }
}

function drawWave(paint, waveform, side, view, width, top, height, colour) {
  const columns = Math.max(1, Math.floor(width / 2));
  const loudest = waveform.columns(side, view.since, view.until, columns);
  paint.fillStyle = colour;
  for (let column = 0; column < columns; column += 1) {
    const tall = Math.max(1, loudest[column] * (height - 6));
    paint.fillRect(column * 2, top + (height - tall) / 2, 1.4, tall);
  }
}

function drawChosen(paint, ink, { atS, answers, response }, x) {
  const from = x(atS);
  const to = x(response?.sound.at(-1)?.[1] ?? answers?.decided_s ?? atS);
  paint.fillStyle = ink.ink;
  paint.globalAlpha = 0.07;
  paint.fillRect(from - 4, RULER, Math.max(8, to - from + 8), HEIGHT - RULER);
  paint.globalAlpha = 1;
}

/** Draw the wait: a band from the caller's last audio to the agent's first, with its length beneath. */
function drawWait(paint, ink, line, x) {
  const wait = waitOf(line);
  if (!wait) return;
  const late = line.response.report?.over_budget.includes("total") ?? false;
  const from = x(wait.from);
  const wide = Math.max(1, x(wait.until) - from);
  paint.fillStyle = late ? ink.over : ink.limit;
  paint.globalAlpha = 0.2;
  paint.fillRect(from, TOP.caller, wide, TOP.marks - TOP.caller);
  paint.globalAlpha = 1;
  paint.fillRect(from, TOP.marks + 1, wide, 4);
}

function drawWords(paint, ink, { turn, response }, x) {
  if (turn && turn.said) {
    box(paint, ink.caller, ink, x(turn.began_s), x(turn.ended_s ?? turn.began_s + 1), TOP.callerWords, turn.said, "");
  }
  if (response && response.sound.length > 0) {
    const { heard, unheard } = heardOf(response);
    const until = response.sound.at(-1)[1];
    box(paint, ink.agent, ink, x(response.sound[0][0]), x(until), TOP.agentWords, heard, unheard);
  }
}

/** Draw text in a box as wide as its audio, truncated; `struck` text after it is struck through. */
function box(paint, colour, ink, from, to, top, words, struck) {
  const wide = Math.max(3, to - from);
  paint.fillStyle = colour;
  paint.globalAlpha = 0.16;
  paint.beginPath();
  paint.roundRect(from, top + 1, wide, WORDS - 5, 4);
  paint.fill();
  paint.globalAlpha = 1;
  if (wide < 26) return;
  paint.save();
  paint.beginPath();
  paint.rect(from, top, wide - 4, WORDS);
  paint.clip();
  const middle = top + (WORDS - 4) / 2 + 0.5;
  const left = Math.max(from, 0) + 6;
  paint.textAlign = "left";
  paint.fillStyle = ink.ink;
  paint.fillText(words, left, middle);
  if (struck) {
    const at = left + paint.measureText(words).width;
    paint.fillStyle = ink.soft;
    paint.fillText(struck, at, middle);
    paint.fillStyle = ink.over;
    paint.fillRect(at, middle, paint.measureText(struck).width, 1.5);
  }
  paint.restore();
}

function drawTool(paint, ink, { name, began_s: beganS, ended_s: endedS, outcome }, x, width) {
  const from = x(beganS);
  const wide = Math.max(4, x(endedS ?? beganS) - from);
  if (from > width || from + wide < 0) return;
  paint.fillStyle = outcome === "failed" ? ink.over : ink.good;
  paint.fillRect(from, TOP.marks + 8, wide, 5);
  paint.fillStyle = ink.soft;
  if (wide > paint.measureText(name).width) paint.fillText(name, Math.max(from, 0), TOP.marks + 20);
}

function drawHead(paint, ink, at, height) {
  paint.fillStyle = ink.ink;
  paint.fillRect(Math.round(at) - 0.75, 0, 1.5, height);
}

