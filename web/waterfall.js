// The waterfall of one turn, and the strip of all turns.

import { STAGES, bars, hereMs, scaleOf, showMs, summary, ticks } from "./turns.js";

/** Draws a turn (see turns.js) as a table of stages; `all`: the turns for p50 and p95. */
export function drawWaterfall(table, turn, all) {
  const { stages, wait, heard } = summary(all);
  const rows = bars(turn).map((bar) => stageRow(bar, stages[bar.name]));
  const here = rows.splice(turn.stages.length);
  if (turn.heardMs !== null) here.push(heardRow(turn, heard));
  const groups = [rows, [waitRow(turn, wait)], here].map((group, index) => {
    const body = element("tbody", ["", "whole", "here"][index]);
    body.append(...group);
    return body;
  });
  table.replaceChildren(headRow(turn), ...groups);
}

/** Chips above the table: costs and savings of the turn in addition to time. */
export function drawChips(list, turn) {
  const { counts } = turn;
  const chips = [];
  if (turn.outcome !== "completed") chips.push([turn.outcome.replace("_", " "), "warn"]);
  const over = turn.overBudget.map((name) => (name === "total" ? "wait" : STAGES[name].label));
  if (over.length > 0) chips.push([`over budget: ${over.join(", ")}`, "bad"]);
  if (turn.here.length > 0) chips.push([`${showMs(hereMs(turn))} ms in this browser`, "plain"]);
  if (turn.hiddenMs > 0) chips.push([`${showMs(turn.hiddenMs)} ms hidden in the pause`, "good"]);
  if (turn.endOfTurn !== null) chips.push([endOfTurnWords(turn.endOfTurn), "plain"]);
  if (counts.preemptive_attempts > 0) {
    const hit = counts.preemptive_hits > 0;
    const fate = hit ? "used" : "dropped";
    chips.push([`preemptive response ${fate} (${counts.preemptive_attempts} begun)`, hit ? "good" : "plain"]);
  }
  if (counts.prompt_tokens > 0) {
    chips.push([`${counts.cached_tokens} of ${counts.prompt_tokens} prompt tokens cached`, "plain"]);
  }
  if (counts.thought_tokens > 0) chips.push([`${counts.thought_tokens} reasoning tokens`, "plain"]);
  if (counts.tokens_wasted > 0) chips.push([`${counts.tokens_wasted} tokens wasted`, "plain"]);
  list.replaceChildren(...chips.map(([words, kind]) => element("li", `chip ${kind}`, words)));
}

/** Features that decided the end of the turn: probability, silence, and the two with the largest log-odds. */
function endOfTurnWords({ probability, silence_ms: silenceMs, witnesses }) {
  const most = Object.entries(witnesses)
    .filter(([name, nats]) => name !== "bias" && nats !== 0)
    .sort(([, one], [, other]) => Math.abs(other) - Math.abs(one))
    .slice(0, 2)
    .map(([name, nats]) => `${name} ${nats > 0 ? "+" : "−"}${Math.abs(nats).toFixed(1)}`);
  return `over with ${Math.round(100 * probability)} %: ${showMs(silenceMs)} ms of silence (${most.join(", ")})`;
}

/** The strip of turns: one button each, as tall as the turn was long. select(turn): called on a click. */
export function drawStrip(list, turns, selected, select) {
  const scrolled = list.scrollLeft; // which replacing the children resets
  const longest = Math.max(1, ...turns.map((turn) => Math.max(turn.totalMs, turn.budgetMs ?? 0)));
  list.replaceChildren(
    ...turns.map((turn, index) => {
      const button = element("button", `turn ${turn.overBudget.includes("total") ? "over" : ""}`);
      button.type = "button";
      button.setAttribute("aria-pressed", String(turn === selected));
      const over = turn.overBudget.includes("total") ? ", over budget" : "";
      button.setAttribute("aria-label", `Turn ${index + 1}: ${showMs(turn.totalMs)} milliseconds${over}`);
      button.title = `${turn.said || "Turn"}: ${showMs(turn.totalMs)} ms`;
      const fill = element("span", "fill");
      fill.style.height = `${Math.max(4, (100 * turn.totalMs) / longest)}%`;
      button.append(fill);
      if (turn.budgetMs !== null) {
        const limit = element("span", "limit");
        limit.style.bottom = `${(100 * turn.budgetMs) / longest}%`;
        button.append(limit);
      }
      button.addEventListener("click", () => select(turn));
      const item = document.createElement("li");
      item.append(button);
      return item;
    }),
  );
  list.scrollLeft = scrolled;
  bringIntoView(list, list.children[turns.indexOf(selected)]);
}

/** Scroll a list sideways until the item is in view. (`scrollIntoView` would scroll the page too.) */
function bringIntoView(list, item) {
  if (!item) return;
  const [frame, place] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  list.scrollLeft += Math.floor(Math.min(0, place.left - frame.left)) + Math.ceil(Math.max(0, place.right - frame.right));
}

function headRow(turn) {
  const head = document.createElement("thead");
  const row = document.createElement("tr");
  const scale = element("th", "track");
  scale.scope = "col";
  scale.append(element("span", "only-read", "Time"));
  const scaleMs = scaleOf(turn);
  for (const { ms, at } of ticks(scaleMs)) {
    const tick = element("span", "tick", String(ms));
    tick.style.left = `${100 * at}%`;
    scale.append(tick);
  }
  const wide = ["budget", "p50", "p95"].map((words) => heading(words, "wide"));
  row.append(heading("Stage"), scale, heading("ms"), heading("ahead"), ...wide);
  head.append(row);
  return head;
}

function stageRow(bar, over) {
  const { label, help, here } = STAGES[bar.name] ?? { label: bar.name, help: "" };
  const row = element("tr", here ? "here" : "");
  row.dataset.stage = bar.name;
  const name = heading(label);
  name.scope = "row";
  name.title = help;
  const track = element("td", "track");
  const line = element("span", "bars");
  if (bar.ghost) {
    const ghost = place(element("span", "ghost"), bar.ghost.start, bar.ghost.length);
    ghost.title = `${showMs(bar.hiddenMs)} ms of work, done before the turn was over`;
    line.append(ghost);
  }
  line.append(place(element("span", `bar${bar.over ? " over" : ""}`), bar.start, bar.length));
  if (bar.budget !== null) line.append(place(element("span", "limit"), bar.budget, 0));
  track.append(line);
  row.append(name, track, timeCell(bar), aheadCell(bar.hiddenMs), ...wideCells(bar.budgetMs, over?.p50, over?.p95));
  return row;
}

function timeCell(bar) {
  const time = cell(showMs(bar.ms), bar.over ? "over" : "");
  if (bar.over) time.append(element("span", "mark", " ▲"), element("span", "only-read", " over budget"));
  return time;
}

function aheadCell(hiddenMs) {
  return cell(hiddenMs > 0 ? showMs(hiddenMs) : "", "ahead");
}

/** Cells that are shown in wide windows only. */
function wideCells(...times) {
  return times.map((ms) => cell(showMs(ms), "wide"));
}

/** The caller's wait; of a response that answers no speech, the sum of its stages. */
function waitRow(turn, wait) {
  const row = element("tr", "total");
  const name = heading(turn.waitMs === null ? "All stages" : "Wait");
  name.scope = "row";
  name.title = turn.waitMs === null ? "the sum of the stages" : "from the caller's last voiced sample to the first audio";
  const track = element("td", "track");
  const line = element("span", "bars");
  const scaleMs = scaleOf(turn);
  const over = turn.overBudget.includes("total");
  line.append(place(element("span", `bar${over ? " over" : ""}`), 0, turn.totalMs / scaleMs));
  if (turn.budgetMs !== null) line.append(place(element("span", "limit"), turn.budgetMs / scaleMs, 0));
  track.append(line);
  const time = cell(showMs(turn.totalMs), over ? "over" : "");
  row.append(name, track, time, aheadCell(turn.hiddenMs), ...wideCells(turn.budgetMs, wait.p50, wait.p95));
  return row;
}

function heardRow(turn, heard) {
  const row = element("tr", "heard");
  const name = heading("Heard here");
  name.scope = "row";
  name.title = "measured in this page: from your last sound to the agent's first";
  const track = element("td", "track", "your last sound to the agent's first");
  row.append(name, track, cell(showMs(turn.heardMs)), cell(""), ...wideCells(null, heard.p50, heard.p95));
  return row;
}

function place(bar, start, length) {
  bar.style.left = `${100 * start}%`;
  if (length > 0) bar.style.width = `${100 * length}%`;
  return bar;
}

function heading(words, kind = "") {
  const head = element("th", kind, words);
  head.scope = "col";
  return head;
}

function cell(words, kind = "") {
  return element("td", `number ${kind}`, words);
}

function element(tag, kind = "", words = "") {
  const made = document.createElement(tag);
  if (kind.trim()) made.className = kind.trim();
  if (words) made.textContent = words;
  return made;
}
