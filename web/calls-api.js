// Requests to the call inspector's API (voiceagent/inspector), and its errors.

import { CallError } from "./messages.js";

const CALLS = "/v1/calls";

/** URL of a part of a call: "", "events", "recording", "peaks", "export", "replay". */
export const urlOf = (id, part = "") => `${CALLS}/${encodeURIComponent(id)}${part && `/${part}`}`;

/** A page of the list. filters: parameters by name. Throws CallError. */
export async function listCalls(filters) {
  return (await ask(`${CALLS}?${new URLSearchParams(filters)}`)).json();
}

/** Throws CallError. */
export async function readCall(id) {
  return (await ask(urlOf(id))).json();
}

/** Replay the call on the server. Throws CallError. */
export async function replayCall(id) {
  return (await ask(urlOf(id, "replay"), { method: "POST" })).json();
}

/** Scores of the call. Throws CallError. */
export async function readScores(id) {
  return (await ask(urlOf(id, "scores"))).json();
}

/** Peaks from a byte offset on; empty if there are no more, or no audio was kept. Throws CallError. */
export async function readPeaks(id, since) {
  try {
    const answer = await ask(urlOf(id, "peaks"), since > 0 ? { headers: { Range: `bytes=${since}-` } } : {});
    return new Uint8Array(await answer.arrayBuffer());
  } catch (error) {
    if (error.code === "not_found" || error.code === "invalid_value") return new Uint8Array(0);
    throw error;
  }
}

/** Exchange the key for a cookie that authenticates this page's requests. Throws CallError. */
export async function openWith(key) {
  await ask(`${CALLS}/ticket`, { method: "POST", headers: { Authorization: `Bearer ${key}` } });
}

const ADVICE = {
  invalid_api_key: ["This server requires a key", "Enter one of server.api_keys_env."],
  key_needed: ["Kept calls require a key", "The server has no keys configured: open this page on its own machine."],
  not_kept: ["This server keeps no calls", 'With [calls] folder = "kept" in its configuration, calls and their recordings are kept.'],
  not_found: ["Call not found", "It may have been deleted: calls are kept for calls.keep_days."],
};

/** Throws CallError. */
async function ask(path, request = {}) {
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    throw new CallError("unreachable", "The server does not answer", "Is it running?");
  }
  if (answer.ok) return answer;
  const { code, message } = (await answer.json().catch(() => null))?.error ?? { code: "", message: "" };
  const [title, advice] = ADVICE[code] ?? [`The server refused (${answer.status})`, message];
  throw new CallError(code, title, advice);
}
