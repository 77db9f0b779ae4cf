// Input on a call's timeline: keys, wheel, drags and clicks.

import { moved } from "./timeline.js";

/** Zoom factor of a step. */
export const ZOOM = 1.6;
const SEEK_S = 5;
/** Pointer movement beyond this is a drag, not a click. */
const DRAG_PX = 4;

/**
 * lanes, whole: canvases of the visible part and of the whole call. scene: returns the current {view, lengthS, atS}.
 * acts: {look(view), zoom(factor, atS), seek(atS), press(atS), next(step), play()}.
 */
export function listenToTimeline(lanes, whole, scene, acts) {
  lanes.addEventListener("keydown", (event) => onKey(event, scene(), acts));
  lanes.addEventListener("wheel", (event) => onWheel(event, scene(), acts));
  onDrag(lanes, scene, (event, state) => dragLanes(event, state, scene(), acts));
  onDrag(whole, scene, (event) => dragWhole(event, scene(), acts));
}

function onKey(event, { lengthS, atS }, acts) {
  const known = {
    ArrowLeft: () => acts.seek(atS - (event.shiftKey ? 1 : SEEK_S)),
    ArrowRight: () => acts.seek(atS + (event.shiftKey ? 1 : SEEK_S)),
    ArrowUp: () => acts.next(-1),
    ArrowDown: () => acts.next(1),
    Home: () => acts.seek(0),
    End: () => acts.seek(lengthS),
    " ": () => acts.play(),
    "+": () => acts.zoom(1 / ZOOM),
    "-": () => acts.zoom(ZOOM),
  };
  const act = event.ctrlKey || event.metaKey || event.altKey ? null : known[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function onWheel(event, { view, lengthS }, acts) {
  const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
  if (!sideways && !event.ctrlKey) return; // the page scrolls
  event.preventDefault();
  const { left, width } = event.currentTarget.getBoundingClientRect();
  const perPixel = (view.until - view.since) / width;
  if (event.ctrlKey) acts.zoom(Math.exp(event.deltaY / 200), view.since + (event.clientX - left) * perPixel);
  else acts.look(moved(view, (event.deltaX || event.deltaY) * perPixel, lengthS));
}

/** A click or drag; state: {x, view, dragged} since the button was pressed. */
function onDrag(canvas, scene, moves) {
  let state = null;
  canvas.addEventListener("pointerdown", (event) => {
    state = { x: event.clientX, view: scene().view, dragged: false };
    canvas.setPointerCapture(event.pointerId);
    moves(event, state);
  });
  canvas.addEventListener("pointermove", (event) => state && moves(event, state));
  canvas.addEventListener("pointerup", (event) => {
    if (state) moves(event, state);
    state = null;
  });
  canvas.addEventListener("pointercancel", () => (state = null));
}

function dragLanes(event, state, { lengthS }, acts) {
  const { left, width } = event.currentTarget.getBoundingClientRect();
  const perPixel = (state.view.until - state.view.since) / width;
  if (Math.abs(event.clientX - state.x) > DRAG_PX) state.dragged = true;
  if (state.dragged) acts.look(moved(state.view, (state.x - event.clientX) * perPixel, lengthS));
  else if (event.type === "pointerup") acts.press(state.view.since + (event.clientX - left) * perPixel);
}

function dragWhole(event, { view, lengthS }, acts) {
  const { left, width } = event.currentTarget.getBoundingClientRect();
  const middle = ((event.clientX - left) / width) * lengthS;
  const shown = view.until - view.since;
  acts.look(moved({ since: middle - shown / 2, until: middle + shown / 2 }, 0, lengthS));
}
