// Turns and their latency: from `voiceagent.latency` and the browser's own figures to the data of the
// waterfall. Pure; all times in milliseconds.

/** The stages in pipeline order, with their labels and the side that spends the time. */
export const STAGES = {
  endpointing: { label: "Turn end", help: "last voiced sample to the decision that the turn is over" },
  recognition: { label: "Recognizer", help: "to the final transcript" },
  tool_call: { label: "Tool call", help: "to the model's call of the first tool" },
  tools: { label: "Tools", help: "to the last tool's result" },
  request: { label: "Request", help: "to the LLM's request" },
  llm_ttft: { label: "LLM", help: "to its first token" },
  thinking: { label: "Thinking", help: "from the first reasoning token to the first word, for reasoning models" },
  fragmenting: { label: "First phrase", help: "to the first speakable phrase" },
  synthesis: { label: "Voice", help: "to the synthesizer's first audio" },
  playout: { label: "Send", help: "to the first frame on the wire" },
  network: { label: "Network", help: "to the client, if the transport reports it" },
  whole: { label: "Wait", help: "your last voiced sample to the agent's first, in this browser: the Live API has no stages" },
  line: { label: "Line", help: "half a round trip, as the browser measures it", here: true },
  jitter: { label: "Jitter buffer", help: "mean delay of the response's audio in the browser", here: true },
  output: { label: "Loudspeaker", help: "the browser's playout and the device", here: true },
};

/**
 * A turn for the page. report: a `voiceagent.latency` event. browser: {jitterMs, outputMs, lineMs}, each null if
 * unknown. heardMs: the wait measured in the page, from the caller's last audio to the agent's first.
 *
 * waitMs: the caller's wait as log, metrics and kept call have it: last voiced sample to first audio, null for a
 * response that answers no speech. totalMs: the sum of the server's stages. here: parts of the browser, not
 * counted in both. They are what the server's stage "network" estimates.
 */
export function makeTurn(report, browser, heardMs, said, at) {
  const stages = report.stages.map((stage) => ({
    name: stage.name,
    ms: stage.ms,
    budgetMs: stage.budget_ms,
    hiddenMs: stage.hidden_ms ?? 0,
  }));
  const totalMs = stages.reduce((sum, stage) => sum + stage.ms, 0);
  const spoken = answersSpeech(report);
  const parts = { line: browser.jitterMs === null ? null : browser.lineMs, jitter: browser.jitterMs, output: browser.outputMs };
  const here = Object.entries(parts)
    .filter(([, ms]) => ms !== null)
    .map(([name, ms]) => ({ name, ms, budgetMs: null, hiddenMs: 0 }));
  return {
    id: report.turn_id,
    at,
    said,
    outcome: report.outcome,
    spoken,
    waitMs: report.wait_ms ?? null,
    totalMs,
    budgetMs: report.budget_ms ?? null,
    hiddenMs: report.hidden_ms,
    heardMs,
    overBudget: report.over_budget,
    stages,
    here,
    counts: report.counts ?? {},
    endOfTurn: report.end_of_turn ?? null,
  };
}

/** True for a report of a response to speech, not to a typed message. */
export function answersSpeech({ stages }) {
  return ["endpointing", "whole"].includes(stages[0]?.name);
}

/** True for a prepared text, such as a greeting: it answers no speech, and no LLM wrote it, so that nobody waits. */
function isPrepared({ spoken, stages, counts }) {
  return !spoken && !counts.prompt_tokens && stages.every(({ name }) => name !== "llm_ttft");
}

/** The number `totalMs` as text, "" for a prepared text. */
export function totalText(turn) {
  return isPrepared(turn) ? "" : showMs(turn.totalMs);
}

/** Name of that number. */
export function totalName(turn) {
  if (isPrepared(turn)) return "prepared, no wait";
  return turn.waitMs === null ? "ms to the answer" : "ms wait";
}

/** The browser's parts of a turn in milliseconds. */
export function hereMs(turn) {
  return turn.here.reduce((sum, part) => sum + part.ms, 0);
}

/** Milliseconds from the start of the turn to its first frame on the wire. */
function sentMs(turn) {
  return turn.totalMs - (turn.stages.find(({ name }) => name === "network")?.ms ?? 0);
}

/**
 * Bars of a turn, the browser's parts last, as fractions of the scale: {name, label, ms, start, length, ghost, budget, over}.
 * ghost: {start, length} of work done before the turn was decided, null for none. budget: position of the stage's
 * limit. Hidden work is drawn back to back so that it ends at the decision.
 */
export function bars(turn) {
  const scaleMs = scaleOf(turn);
  const decidedMs = turn.stages[0]?.name === "endpointing" ? turn.stages[0].ms : 0;
  let ghostMs = Math.max(0, decidedMs - turn.hiddenMs);
  let startMs = 0;
  return [...turn.stages, ...turn.here].map((stage) => {
    if (stage === turn.here[0]) startMs = sentMs(turn);
    const ghostEndMs = Math.min(decidedMs, ghostMs + stage.hiddenMs);
    const ghost =
      stage.hiddenMs > 0 ? { start: ghostMs / scaleMs, length: (ghostEndMs - ghostMs) / scaleMs } : null;
    if (stage.hiddenMs > 0) ghostMs = ghostEndMs;
    const bar = {
      name: stage.name,
      ms: stage.ms,
      hiddenMs: stage.hiddenMs,
      budgetMs: stage.budgetMs,
      start: startMs / scaleMs,
      length: stage.ms / scaleMs,
      budget: stage.budgetMs === null ? null : Math.min(1, (startMs + stage.budgetMs) / scaleMs),
      over: stage.budgetMs !== null && stage.ms > stage.budgetMs,
      ghost,
    };
    startMs += stage.ms;
    return bar;
  });
}

/** Milliseconds at the right end of the waterfall: the larger of turn and budget, plus a margin. */
export function scaleOf(turn) {
  const widest = Math.max(turn.totalMs, sentMs(turn) + hereMs(turn), turn.budgetMs ?? 0, 1);
  const step = widest > 2000 ? 500 : widest > 800 ? 200 : 100;
  return Math.ceil((widest * 1.02) / step) * step;
}

/** Pairs of a step between ticks and the longest scale that has it, in milliseconds: at most nine ticks have room. */
const TICK_STEPS = [
  [100, 800],
  [400, 2_000],
  [1_000, 8_000],
  [5_000, 40_000],
  [20_000, 160_000],
  [100_000, Infinity],
];

/** Ticks of the scale: [{ms, at}] with `at` from 0 to 1. */
export function ticks(scaleMs) {
  const [step] = TICK_STEPS.find(([, longestMs]) => scaleMs <= longestMs);
  const found = [];
  for (let ms = 0; ms <= scaleMs; ms += step) found.push({ ms, at: ms / scaleMs });
  return found;
}

/** The smallest value that at least `percent` per cent of all do not exceed (nearest rank); null for none. */
export function percentile(values, percent) {
  const ordered = [...values].sort((a, b) => a - b);
  if (ordered.length === 0) return null;
  return ordered[Math.max(0, Math.ceil((ordered.length * percent) / 100) - 1)];
}

/** p50 and p95 of every stage and of the wait, over the spoken turns whose response was kept. */
export function summary(turns) {
  const counted = turns.filter((turn) => turn.spoken && !["failed", "false_end"].includes(turn.outcome));
  const of = (values) => ({ p50: percentile(values, 50), p95: percentile(values, 95) });
  const stages = {};
  for (const name of Object.keys(STAGES)) {
    const values = counted.flatMap((turn) => [...turn.stages, ...turn.here].filter((s) => s.name === name).map((s) => s.ms));
    if (values.length > 0) stages[name] = of(values);
  }
  const heard = counted.map((turn) => turn.heardMs).filter((ms) => ms !== null);
  const waits = counted.map((turn) => turn.waitMs).filter((ms) => ms !== null);
  return { turns: waits.length, wait: of(waits), heard: of(heard), stages };
}

/** Content of the exported file. */
export function exported(turns, server, now) {
  return { format: "voiceagent.turns/2", exported_at: now.toISOString(), server, summary: summary(turns), turns };
}

/** Format milliseconds: one decimal below ten. */
export function showMs(ms) {
  if (ms === null || ms === undefined) return "–";
  return ms < 10 && ms >= 0.05 ? ms.toFixed(1) : String(Math.round(ms));
}
