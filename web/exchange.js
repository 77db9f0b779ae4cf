// The transcript, line by line, and the latency of the selected turn.

import { clock, heardOf, interruptionOf, waitOf, whyOf } from "./timeline.js";
import { makeTurn, showMs, totalName, totalText } from "./turns.js";
import { drawChips, drawWaterfall } from "./waterfall.js";

const NO_PLAYOUT = { line_ms: null, jitter_ms: null, output_ms: null, heard_ms: null };
const STATUS = { cancelled: "interrupted", failed: "failed", false_end: "turn cut off", in_progress: "in progress", hung_up: "call ended", incomplete: "cut short" };

/** A line of `exchanges` as a list item. choose(line): called on a click. */
export function exchangeItem(line, choose) {
  const item = element("li", "exchange");
  item.dataset.key = line.key;
  const button = element("button", "choose");
  button.type = "button";
  button.append(element("span", "at", clock(line.atS)), said(line), chipsOf(line));
  button.addEventListener("click", () => choose(line));
  item.append(button);
  return item;
}

/** Key of a line's content: it is rendered again only if the key changes. */
export function fingerprint(line) {
  return JSON.stringify([line.turn, line.response, line.tools, line.hooks, line.requests]);
}

function said({ turn, response }) {
  const words = element("span", "words-of");
  if (turn) words.append(spoken("caller", "Caller", turn.said || "…"));
  if (response) {
    const { heard, unheard } = heardOf(response);
    const agent = spoken("agent", "Agent", heard);
    if (unheard) {
      const struck = element("del", "", unheard);
      struck.title = "not heard by the caller";
      agent.append(element("span", "only-read", " not heard: "), struck);
    }
    words.append(agent);
  }
  return words;
}

function spoken(side, name, text) {
  const made = element("span", `spoken ${side}`);
  made.append(element("span", "speaker", name), document.createTextNode(" "), element("span", "text", text));
  return made;
}

function chipsOf(line) {
  const chips = element("span", "marks-of");
  const add = (words, kind) => chips.append(element("span", `chip ${kind}`, words));
  const { response } = line;
  const wait = waitOf(line);
  if (wait) add(`${showMs(waitMs(line, wait))} ms`, response.report?.over_budget.includes("total") ? "bad" : "plain");
  const status = response ? STATUS[response.status] : "";
  const cause = response ? interruptionOf(response) : "";
  if (status || cause) add([status || "interrupted", cause].filter(Boolean).join(" "), !status || response.status === "cancelled" ? "plain" : "bad");
  for (const tool of line.tools) add(tool.name, tool.outcome === "failed" ? "bad" : "good");
  for (const hook of line.hooks) add(`${hook.name} failed`, "bad");
  for (const { sideband, request } of line.requests) add(`sideband ${sideband}: ${request}`, "plain");
  return chips;
}

/** The measured wait; without a report yet, the one that the recording shows. */
function waitMs(line, wait) {
  return measured(line)?.waitMs ?? 1000 * (wait.until - wait.from);
}

/** The turn as the waterfall needs it (turns.js), null without measurements. */
export function measured({ answers, response, turn }) {
  if (!response?.report) return null;
  const playout = { ...NO_PLAYOUT, ...(answers?.playout ?? {}) };
  const browser = { jitterMs: playout.jitter_ms, outputMs: playout.output_ms, lineMs: playout.line_ms };
  const report = { ...response.report, turn_id: response.turn_id, end_of_turn: null };
  return makeTurn(report, browser, playout.heard_ms, turn?.said ?? answers?.said ?? "", "");
}

/** Show one line. $: returns an element of the page by its id. all: the measured turns of the call. */
export function showDetails($, line, all) {
  const turn = measured(line);
  const wait = waitOf(line);
  $("total").textContent = turn ? totalText(turn) : wait ? showMs(waitMs(line, wait)) : "";
  $("unit").hidden = !turn && !wait;
  $("unit").textContent = turn ? totalName(turn) : "ms wait";
  $("said").textContent = line.answers?.said ? `“${line.answers.said.trim()}”` : "";
  $("waterfall").hidden = $("chips").hidden = turn === null;
  if (turn) {
    drawChips($("chips"), turn);
    drawWaterfall($("waterfall"), turn, all);
  }
  const usage = line.response?.usage;
  if (turn && usage && (typeof usage.gate_s === "number" || typeof usage.queue_s === "number")) {
    const queuedS = (usage.gate_s ?? 0) + (usage.queue_s ?? 0);
    $("chips").append(element("li", "chip plain", `${showMs(1000 * queuedS)} ms in the LLM's queues`));
  }
  if (line.response?.failure) $("chips").append(element("li", "chip bad", line.response.failure));
  showWhy($, line.answers);
  $("tools").replaceChildren(...(line.tools.length > 0 ? [element("h3", "", "Tools")] : []), ...line.tools.map(toolBox), ...line.hooks.map(hookBox));
}

function showWhy($, turn) {
  $("why-title").hidden = $("why").hidden = !turn;
  const decision = turn?.end_of_turn ?? null;
  $("witnesses").hidden = decision === null;
  if (!turn) return;
  $("why").textContent = whyOf(turn);
  if (!decision) return;
  const witnesses = Object.entries(decision.witnesses).filter(([, nats]) => Math.abs(nats) > 0.005);
  const most = Math.max(1, ...witnesses.map(([, nats]) => Math.abs(nats)));
  $("witnesses").replaceChildren(
    element("caption", "only-read", "What each feature added to the odds that the turn was over"),
    ...witnesses.map(([name, nats]) => witnessRow(name, nats, most)),
  );
}

function witnessRow(name, nats, most) {
  const row = document.createElement("tr");
  const head = element("th", "", name);
  head.scope = "row";
  const track = element("td", "track");
  const line = element("span", "odds");
  const bar = element("span", nats > 0 ? "for" : "against");
  bar.style.width = `${(50 * Math.abs(nats)) / most}%`;
  bar.style[nats > 0 ? "left" : "right"] = "50%";
  line.append(bar);
  track.append(line);
  row.append(head, track, element("td", "number", `${nats > 0 ? "+" : "−"}${Math.abs(nats).toFixed(2)}`));
  return row;
}

function hookBox(hook) {
  const made = element("div", "tool-box");
  made.append(element("p", "bad", `The agent's ${hook.name} failed${hook.place ? ` at ${hook.place}` : ""}`), element("code", "", hook.reason));
  return made;
}

function toolBox(tool) {
  const made = element("div", "tool-box");
  const took = tool.ended_s === null ? "no output" : `${showMs(1000 * (tool.ended_s - tool.began_s))} ms`;
  const title = element("p", "", `${tool.name}: ${tool.outcome || "running"}, ${took}`);
  title.className = tool.outcome === "failed" ? "bad" : "";
  made.append(title, element("code", "", tool.arguments), element("code", "", tool.output));
  return made;
}

function element(tag, kind = "", words = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (words) made.textContent = words;
  return made;
}
