// Model of a call in the inspector: merges the server's data, and computes positions. Pure.
// Times are seconds since the start of the call.

/** A call without data. */
export function emptyCall() {
  return { call: {}, turns: new Map(), responses: new Map(), tools: new Map(), stalls: new Map(), hooks: new Map(), requests: new Map() };
}

/** Merge in the data of `GET /v1/calls/{id}`, or of an event of it. */
export function merged(known, told) {
  const put = (into, items, key) => new Map([...into, ...items.map((item) => [item[key], item])]);
  return {
    call: { ...known.call, ...told.call },
    turns: put(known.turns, told.turns, "turn_id"),
    responses: put(known.responses, told.responses, "response_id"),
    tools: put(known.tools, told.tools, "call_id"),
    stalls: put(known.stalls, told.stalls, "at_s"),
    hooks: put(known.hooks, told.failed_hooks, "at_s"),
    requests: new Map([...known.requests, ...told.requests.map((one) => [`${one.at_s} ${one.sideband} ${one.request}`, one])]),
  };
}

/** The provider's metadata of a call, "" without any. */
export function providerData({ provider_data = {} }) {
  const facts = Object.entries(provider_data).map(([name, value]) => `${name} ${value}`);
  return facts.length > 0 ? `phone provider: ${facts.join(", ")}` : "";
}

const UNANSWERED = new Set(["in_progress", "hung_up"]);

/**
 * Lines of the transcript in order: [{key, atS, turn, response, tools, hooks, requests}]. A line has a turn and its
 * response; either is null if missing. A turn with two responses has two lines. A failed hook of the agent, and a
 * request of a sideband, belong to the last line before them.
 */
export function exchanges({ turns, responses, tools, hooks, requests }) {
  const lines = [];
  const answered = new Set();
  for (const response of responses.values()) {
    if (!response.written && response.sound.length === 0 && UNANSWERED.has(response.status)) continue;
    const turn = turns.get(response.turn_id) ?? null;
    const first = turn !== null && !answered.has(turn.turn_id);
    if (turn) answered.add(turn.turn_id);
    const used = [...tools.values()].filter((tool) => tool.response_id === response.response_id);
    const atS = first ? turn.began_s : (response.sound[0]?.[0] ?? response.began_s);
    lines.push({ key: response.response_id, atS, turn: first ? turn : null, answers: turn, response, tools: used, hooks: [], requests: [] });
  }
  for (const turn of turns.values()) {
    if (answered.has(turn.turn_id) || (!turn.said && turn.decided_s === null)) continue;
    lines.push({ key: turn.turn_id, atS: turn.began_s, turn, answers: turn, response: null, tools: [], hooks: [], requests: [] });
  }
  lines.sort((one, other) => one.atS - other.atS);
  for (const hook of hooks.values()) lineAt(lines, hook.at_s, `hook ${hook.at_s}`).hooks.push(hook);
  for (const request of requests.values()) {
    if (request.sideband > 0) lineAt(lines, request.at_s, `request ${request.at_s}`).requests.push(request);
  }
  return lines;
}

/** The last line before a time; without one, a new line before all others. */
function lineAt(lines, atS, key) {
  const begun = lines.findLast((line) => line.atS <= atS);
  if (begun) return begun;
  lines.unshift({ key, atS, turn: null, answers: null, response: null, tools: [], hooks: [], requests: [] });
  return lines[0];
}

/** Played and unplayed text of a response. Without playout data, all text counts as played. */
export function heardOf({ written, heard, status }) {
  if (heard === null || status === "in_progress") return { heard: written, unheard: "" };
  const same = written.startsWith(heard);
  return { heard: same ? heard : "", unheard: same ? written.slice(heard.length) : written };
}

/** The caller's wait for the response to their turn: {from, until}; null without one. */
export function waitOf({ answers, response }) {
  const from = answers?.ended_s;
  const until = response?.sound[0]?.[0];
  if (from === undefined || from === null || until === undefined || until < from || answers.ended_by === "typed") return null;
  return { from, until };
}

/** Length of the call in seconds, as far as it is known. */
export function lengthOf({ call, responses }, soundS) {
  let until = Math.max(call.seconds ?? 0, soundS, 1);
  for (const { sound } of responses.values()) until = Math.max(until, sound.at(-1)?.[1] ?? 0);
  return until;
}

const SHORTEST_S = 1;

/** Zoom a part {since, until} of a call of `lengthS` to `factor` times its length; `atS` keeps its place. */
export function zoomed({ since, until }, factor, atS, lengthS) {
  const shown = Math.min(lengthS, Math.max(SHORTEST_S, (until - since) * factor));
  const part = (atS - since) / (until - since);
  return inside({ since: atS - part * shown, until: atS + (1 - part) * shown }, lengthS);
}

/** The part moved by `byS` seconds. */
export function moved({ since, until }, byS, lengthS) {
  return inside({ since: since + byS, until: until + byS }, lengthS);
}

/** The part moved, if necessary, so that `atS` is visible: it then starts a little before `atS`. */
export function showing(view, atS, lengthS) {
  const shown = view.until - view.since;
  if (atS >= view.since && atS <= view.until) return view;
  return inside({ since: atS - 0.1 * shown, until: atS + 0.9 * shown }, lengthS);
}

function inside({ since, until }, lengthS) {
  const shown = Math.min(until - since, lengthS);
  const from = Math.min(Math.max(0, since), lengthS - shown);
  return { since: from, until: from + shown };
}

const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];

/** Labelled ticks of the ruler, in steps; at most `most`. */
export function rulerTicks({ since, until }, most) {
  const step = STEPS_S.find((candidate) => (until - since) / candidate <= most) ?? 3600;
  const ticks = [];
  for (let number = Math.ceil(since / step); number * step <= until; number += 1) ticks.push(number * step);
  return { step, ticks };
}

/** The `items` that overlap the view. from, to: times of an item. */
export function visible(items, { since, until }, from, to) {
  return items.filter((item) => from(item) <= until && to(item) >= since);
}

/** Format seconds as "1:02:03" or "2:03", with `decimals`. */
export function clock(seconds, decimals = 0) {
  const unit = 10 ** decimals;
  const ticks = Math.floor(Math.max(0, seconds) * unit + 1e-6);
  const whole = Math.floor(ticks / unit);
  const two = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = decimals > 0 ? `.${String(ticks % unit).padStart(decimals, "0")}` : "";
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}${rest}`;
}

/** Rules that set the endpointing delay, other than the probability. */
const RULES = {
  dictation: "Rule: a dictated number may have pauses between its groups.",
  spelling: "Rule: spelling may have pauses between its letters.",
  moment: "Rule: the caller had asked for a moment.",
  acknowledgement: "Rule: the caller had accepted the question, and not answered it.",
  longest_silence: "Rule: the longest silence of a turn, as the final transcript was late.",
};

const CAUSES = {
  duration: "by a long voice",
  words: "by words",
  stop_word: "by a stop word",
  resumed_turn: "by the resumed turn",
  correction: "by a correction of the back LLM",
  key: "by a key",
  client: "by the client",
  sideband: "by a sideband",
  upstream: "by the realtime backend",
};

/** What interrupted a response, in words; "" for nothing and in old logs. */
export function interruptionOf({ interrupted_by: cause }) {
  return cause ? (CAUSES[cause] ?? `by ${cause}`) : "";
}

/** Reasons for the end of a turn, in sentences. */
export function whyOf({ ended_by: by, end_code: code, ended_s: endedS, settled_s: settledS, decided_s: decidedS, end_of_turn: decision }) {
  if (by === "typed") return "The caller typed.";
  if (by === "client") return "The client ended the turn.";
  if (by === "upstream") return "The realtime backend ended the turn.";
  if (by !== "silence" || decidedS === null) return "The turn has not ended.";
  const afterMs = (atS) => Math.round(1000 * (atS - endedS));
  const told = `By silence, ${afterMs(decidedS)} ms after its last audio`;
  if (!decision) return `${told}; there was no transcript to consider.`;
  const percent = Math.round(100 * decision.probability);
  const why = [`${told}: end-of-turn probability ${percent} %, which requires ${Math.round(decision.silence_ms)} ms of silence.`];
  const late = settledS !== null && afterMs(settledS) > decision.silence_ms;
  if (late) why.push(`The final transcript came ${afterMs(settledS)} ms after that audio.`);
  if (RULES[code]) why.push(RULES[code]);
  if (decision.awaited_ms > 0) why.push(`It could resume for up to ${Math.round(decision.awaited_ms)} ms more, while its response had no audio.`);
  return why.join(" ");
}
