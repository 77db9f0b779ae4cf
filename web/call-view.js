// One call: its timeline, its transcript and the latency of a turn; refreshed while it is running.

import { readCall, readPeaks, urlOf } from "./calls-api.js";
import { marksOf, when } from "./call-list.js";
import { CallReplay } from "./call-replay.js";
import { CallScores } from "./call-scores.js";
import { exchangeItem, fingerprint, measured, showDetails } from "./exchange.js";
import { Player } from "./player.js";
import { HEIGHT, drawLanes, drawWhole } from "./timeline-canvas.js";
import { ZOOM, listenToTimeline } from "./timeline-input.js";
import { clock, emptyCall, exchanges, lengthOf, providerData, merged, moved, showing, zoomed } from "./timeline.js";
import { Waveform } from "./waveform.js";

/** Longest call that is shown as a whole; of a longer one, its beginning. */
const FIRST_S = 120;
/** Time before the second of a link at which playback begins, so that its cause is heard. */
const LEAD_S = 1;
const PEAKS_MS = 1_000;
/** As in calls.css: narrower windows stack transcript and details. */
const NARROW = matchMedia("(max-width: 860px)");

export class CallView {
  #$;
  #failed;
  #player;
  #id = "";
  #events = null;
  #peaksTimer = 0;
  #frame = 0;
  #scene;
  #scores;

  /** $: returns an element of the page by its id. failed: receives a CallError. */
  constructor($, failed) {
    this.#$ = $;
    this.#failed = failed;
    this.#player = new Player($("audio"), () => this.#draw());
    new CallReplay($, () => this.#id, (promise, id) => this.#asked(promise, id));
    this.#scores = new CallScores($, () => this.#id, (promise, id) => this.#asked(promise, id));
    this.#clear();
    this.#listen();
    new ResizeObserver(() => this.#draw()).observe($("lanes").parentElement);
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => this.#draw());
  }

  /** Show a call. atS: second at which it opens, NaN for its beginning. */
  async open(id, atS = NaN) {
    this.close();
    this.#id = id;
    const $ = this.#$;
    const opened = this.#scene;
    $("export").href = urlOf(id, "export");
    $("exchanges").replaceChildren();
    const told = await this.#asked(readCall(id), id);
    if (!told) return;
    this.#take(told);
    const end = lengthOf(this.#scene.model, 0);
    this.#scene.view = { since: 0, until: Math.min(end, FIRST_S) };
    this.#show();
    await this.#morePeaks();
    if (this.#scene !== opened) return; // another link was followed meanwhile
    if (told.call.state === "running") this.#follow();
    const { lines } = this.#scene;
    const line = lines.findLast((candidate) => candidate.atS <= atS) ?? lines[0];
    if (line) this.#choose(line, false);
    if (atS >= 0) this.#seek(atS - LEAD_S);
  }

  close() {
    this.#id = "";
    this.#events?.close();
    this.#events = null;
    clearTimeout(this.#peaksTimer);
    cancelAnimationFrame(this.#frame);
    this.#player.open("", false);
    this.#scores.close();
    this.#clear();
  }

  #clear() {
    this.#scene = {
      model: emptyCall(),
      lines: [],
      waveform: new Waveform(),
      view: { since: 0, until: 1 },
      lengthS: 1,
      atS: 0,
      chosen: "",
      atEnd: true,
    };
    for (const id of ["outcome", "diff", "details", "live-note"]) this.#$(id).hidden = true;
    this.#$("unchosen").hidden = false;
  }

  // ---- requests

  /** The result of a request; null if it failed or another call is shown by now. */
  async #asked(promise, id) {
    try {
      const answer = await promise;
      return this.#id === id ? answer : null;
    } catch (error) {
      if (this.#id === id) this.#failed(error);
      return null;
    }
  }

  #take(told) {
    const scene = this.#scene;
    scene.model = merged(scene.model, told);
    scene.lines = exchanges(scene.model);
  }

  #follow() {
    const id = this.#id;
    this.#events = new EventSource(urlOf(id, "events"));
    this.#events.addEventListener("changes", ({ data }) => {
      this.#take(JSON.parse(data));
      this.#show();
    });
    this.#events.addEventListener("over", async () => {
      this.#events.close();
      clearTimeout(this.#peaksTimer);
      const told = await this.#asked(readCall(id), id);
      if (!told) return;
      this.#take(told);
      this.#scene.model.call.state = told.call.state === "running" ? "ended" : told.call.state;
      await this.#morePeaks();
      this.#show();
    });
    this.#peaksTimer = setTimeout(() => this.#keepPeaks(), PEAKS_MS);
  }

  async #keepPeaks() {
    await this.#morePeaks();
    if (this.#id && this.#events) this.#peaksTimer = setTimeout(() => this.#keepPeaks(), PEAKS_MS);
  }

  async #morePeaks() {
    const { waveform } = this.#scene;
    const bytes = await this.#asked(readPeaks(this.#id, waveform.bytes), this.#id);
    if (!bytes) return;
    waveform.append(bytes);
    this.#measure();
  }

  // ---- rendering

  #show() {
    const $ = this.#$;
    const { model, lines } = this.#scene;
    const { call } = model;
    const goesOn = call.state === "running";
    $("live-note").hidden = !goesOn;
    $("began").textContent = when(call.started_at);
    const agents = (call.agents ?? []).filter(Boolean).join(" → ");
    const facts = [call.call_id, goesOn ? "" : [call.reason, call.end_code && `(${call.end_code})`].filter(Boolean).join(" "), agents, call.model, `voiceagent ${call.versions?.voiceagent ?? ""}`];
    $("about").textContent = [...facts, providerData(call)].filter(Boolean).join(" · ");
    $("marks").replaceChildren(...marksOf(call).map(([words, kind]) => chip(words, kind)));
    $("silent").hidden = lines.length > 0;
    this.#player.open(call.rate_hz > 0 ? urlOf(this.#id, "recording") : "", goesOn);
    $("play").disabled = !(call.rate_hz > 0);
    this.#showLines();
    this.#measure();
  }

  /** Renders changed lines only: a call may have thousands. */
  #showLines() {
    const list = this.#$("exchanges");
    const before = new Map([...list.children].map((item) => [item.dataset.key, item]));
    const items = this.#scene.lines.map((line) => {
      const print = fingerprint(line);
      const known = before.get(line.key);
      if (known?.print === print) return known;
      const made = exchangeItem(line, (pressed) => this.#choose(pressed, true));
      made.print = print;
      if (line.key === this.#scene.chosen) this.#mark(made, true);
      return made;
    });
    items.forEach((item, index) => {
      if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null);
    });
    while (list.children.length > items.length) list.lastElementChild.remove();
    const chosen = this.#scene.lines.find((line) => line.key === this.#scene.chosen);
    if (chosen) showDetails(this.#$, chosen, this.#measuredTurns());
  }

  #measure() {
    const scene = this.#scene;
    const before = scene.lengthS;
    scene.lengthS = lengthOf(scene.model, scene.waveform.seconds);
    const goesOn = scene.model.call.state === "running";
    if (goesOn && scene.atEnd && scene.lengthS > before) {
      const shown = Math.max(20, Math.min(FIRST_S, scene.view.until - scene.view.since));
      scene.view = moved({ since: scene.lengthS - shown, until: scene.lengthS }, 0, scene.lengthS);
    }
    this.#$("length").textContent = clock(scene.lengthS);
    this.#draw();
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    const $ = this.#$;
    const scene = this.#scene;
    if (!this.#id) return;
    if (this.#player.playing) {
      scene.atS = this.#player.atS;
      scene.view = showing(scene.view, scene.atS, scene.lengthS);
      this.#draw();
    }
    $("play").dataset.playing = String(this.#player.playing);
    $("play").setAttribute("aria-label", this.#player.playing ? "Pause" : "Play");
    $("now").textContent = clock(scene.atS, 1);
    const lanes = $("lanes");
    lanes.setAttribute("aria-valuemax", scene.lengthS.toFixed(1));
    lanes.setAttribute("aria-valuenow", scene.atS.toFixed(1));
    lanes.setAttribute("aria-valuetext", `${clock(scene.atS, 1)} of ${clock(scene.lengthS)}`);
    drawLanes(lanes, scene);
    drawWhole($("whole"), scene);
  }

  #measuredTurns() {
    return this.#scene.lines.map(measured).filter(Boolean);
  }

  /** Select a line. go: scroll the timeline to it. */
  #choose(line, go) {
    const scene = this.#scene;
    const $ = this.#$;
    for (const item of $("exchanges").children) this.#mark(item, item.dataset.key === line.key);
    scene.chosen = line.key;
    $("details").hidden = false;
    $("unchosen").hidden = true;
    showDetails($, line, this.#measuredTurns());
    if (go) this.#seek(Math.max(0, line.atS - 0.3));
    if (go && NARROW.matches) $("details").parentElement.scrollIntoView({ block: "start" });
    this.#draw();
  }

  #mark(item, chosen) {
    item.classList.toggle("chosen", chosen);
    item.firstElementChild.setAttribute("aria-pressed", String(chosen));
  }

  // ---- reader actions

  #seek(atS) {
    const scene = this.#scene;
    scene.atS = Math.min(Math.max(0, atS), scene.lengthS);
    scene.view = showing(scene.view, scene.atS, scene.lengthS);
    scene.atEnd = scene.atS > scene.lengthS - 2;
    if (this.#player.playing) this.#player.seek(scene.atS);
    this.#draw();
  }

  #play() {
    if (this.#player.playing) this.#player.pause();
    else this.#player.play(this.#scene.atS, this.#scene.waveform.seconds);
  }

  #zoom(factor, atS) {
    const scene = this.#scene;
    const at = atS ?? (scene.atS >= scene.view.since && scene.atS <= scene.view.until ? scene.atS : (scene.view.since + scene.view.until) / 2);
    this.#look(zoomed(scene.view, factor, at, scene.lengthS));
  }

  #look(view) {
    this.#scene.view = view;
    this.#scene.atEnd = view.until > this.#scene.lengthS - 0.5;
    this.#draw();
  }

  #next(step) {
    const { lines, chosen } = this.#scene;
    const at = lines.findIndex((line) => line.key === chosen) + step;
    if (!lines[at]) return;
    this.#choose(lines[at], true);
    this.#$("exchanges").children[at]?.scrollIntoView({ block: "nearest" });
  }

  #listen() {
    const $ = this.#$;
    const on = (id, event, act) => $(id).addEventListener(event, act);
    on("play", "click", () => this.#play());
    on("in", "click", () => this.#zoom(1 / ZOOM));
    on("out", "click", () => this.#zoom(ZOOM));
    on("fit", "click", () => this.#look({ since: 0, until: this.#scene.lengthS }));
    on("speed", "change", () => (this.#player.speed = Number($("speed").value)));
    for (const id of ["hear-caller", "hear-agent"]) {
      on(id, "change", () => this.#player.hear($("hear-caller").checked, $("hear-agent").checked));
    }
    listenToTimeline($("lanes"), $("whole"), () => this.#scene, {
      look: (view) => this.#look(view),
      zoom: (factor, atS) => this.#zoom(factor, atS),
      seek: (atS) => this.#seek(atS),
      press: (atS) => this.#press(atS),
      next: (step) => this.#next(step),
      play: () => this.#play(),
    });
    $("lanes").style.height = `${HEIGHT}px`;
  }

  /** A click seeks there, and selects the line at that time. */
  #press(atS) {
    const line = this.#scene.lines.findLast((candidate) => candidate.atS <= atS);
    if (line && line.key !== this.#scene.chosen) {
      this.#choose(line, false);
      this.#$("exchanges").querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
    }
    this.#seek(atS);
  }
}

function chip(words, kind) {
  const made = document.createElement("li");
  made.className = `chip ${kind}`;
  made.textContent = words;
  return made;
}
