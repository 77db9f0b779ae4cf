// Transcript of both sides, from the server's events. Pure: `spoken(entries, event)` returns the new entries.
//
// An entry: {id, role: "user" | "assistant", text, cut, state, typed}. `text` is what was said and played, `cut` the
// unplayed rest. state: "listening" while text may still arrive, "done", "failed". typed: true for a typed message.
// Or a tool call: {id, role: "tool", text: "", cut: "", state, call, name, args, output}; "listening" until its output
// arrives. args: the model's JSON.

/** The server counts EVENT_BYTES per event in addition to its length. TOLD_BYTES: size of the conversation sent to a new
 * session, a quarter of the server's default burst (`limits.max_bytes_per_s`) and more than a prompt holds. */
const EVENT_BYTES = 4_096;
const TOLD_BYTES = 1_000_000;
const TRANSCRIPTION = "conversation.item.input_audio_transcription";

/** Apply an event of the Realtime API. Returns the same list if the event changes nothing. */
export function spoken(entries, event) {
  switch (event.type) {
    case "input_audio_buffer.speech_started":
      return opened(entries, event.item_id, "user");
    case `${TRANSCRIPTION}.delta`:
      return extended(entries, event.item_id, "user", event.delta);
    case `${TRANSCRIPTION}.completed`:
      return understood(entries, event.item_id, event.transcript);
    case `${TRANSCRIPTION}.failed`:
      return changed(entries, event.item_id, { state: "failed" });
    case "conversation.item.added":
      return added(entries, event.item);
    case "response.output_audio_transcript.delta":
    case "response.output_text.delta":
      return extended(entries, event.item_id, "assistant", event.delta);
    case "response.output_item.done":
      return changed(entries, event.item.id, { state: "done" });
    case "conversation.item.retrieved":
      return heard(entries, event.item);
    default:
      return entries;
  }
}

/** Id of the item in which the agent was interrupted, whose played text should be requested; or null. */
export function wasCut(event) {
  return event.type === "conversation.item.truncated" ? event.item_id : null;
}

/** Mark what was not played of the answer that a hang-up cut. responses: those of the kept call. */
export function hungUp(entries, responses) {
  const cut = responses.at(-1);
  const last = entries.findLast((entry) => entry.role === "assistant");
  const known = cut?.status === "hung_up" && cut.heard !== null;
  if (!last || !known || !cut.written.trim().startsWith((last.text + last.cut).trim())) return entries;
  return heard(entries, { id: last.id, content: [{ transcript: cut.heard }] });
}

/** True if the caller's newest message was typed. */
export function lastTyped(entries) {
  return entries.findLast((entry) => entry.role === "user")?.typed ?? true;
}

/** Text of an item of the protocol, "" without any. */
export function itemText(item) {
  return (item.content ?? []).map((part) => part.text ?? part.transcript ?? "").join("\n");
}

/** Items that give a new session the conversation so far, under their old ids, after a drop. Of a conversation that is
 * too long, the newest. */
export function asItems(entries) {
  const items = entries
    .filter((entry) => entry.text.trim() !== "")
    .map(({ id, role, text }) => {
      const type = role === "user" ? "input_text" : "output_text";
      return { id, type: "message", role, content: [{ type, text: text.trim() }] };
    });
  let left = TOLD_BYTES;
  const oldest = items.findLastIndex((item) => (left -= EVENT_BYTES + bytes(item)) < 0);
  return items.slice(oldest + 1);
}

function bytes(item) {
  return new TextEncoder().encode(JSON.stringify(item)).length;
}

/** Client events that send a typed message: the agent stops, and answers. */
export function typedEvents(text) {
  const content = [{ type: "input_text", text }];
  return [
    { type: "output_audio_buffer.clear" }, // typing interrupts, too
    { type: "conversation.item.create", item: { type: "message", role: "user", content } },
    { type: "response.create" },
  ];
}

function changed(entries, id, changes) {
  return entries.map((entry) => (entry.id === id ? { ...entry, ...changes } : entry));
}

function opened(entries, id, role) {
  if (entries.some((entry) => entry.id === id)) return entries;
  return [...entries, { id, role, text: "", cut: "", state: "listening", typed: false }];
}

/** Text that arrives after the interruption was not played either. */
function extended(entries, id, role, words) {
  return opened(entries, id, role).map((entry) => {
    if (entry.id !== id) return entry;
    return entry.cut ? { ...entry, cut: entry.cut + words } : { ...entry, text: entry.text + words };
  });
}

/** Remove the line of a noise without a transcript. */
function understood(entries, id, transcript) {
  if (transcript.trim() === "") return entries.filter((entry) => entry.id !== id);
  return changed(opened(entries, id, "user"), id, { text: transcript, state: "done" });
}

/** Typed messages arrive as complete items, spoken ones as events of their own. Tool calls are items. */
function added(entries, item) {
  if (item.type === "function_call" && !entries.some((entry) => entry.id === item.id)) return [...entries, called(item)];
  if (item.type === "function_call_output") return returned(entries, item);
  const typed = item.type === "message" && item.role === "user" && item.content?.[0]?.type === "input_text";
  if (!typed) return entries;
  return changed(opened(entries, item.id, "user"), item.id, { text: itemText(item), state: "done", typed: true });
}

function called({ id, call_id, name, arguments: args }) {
  return { id, role: "tool", text: "", cut: "", state: "listening", call: call_id, name, args, output: "" };
}

function returned(entries, { call_id, output }) {
  return entries.map((entry) => (entry.call && entry.call === call_id ? { ...entry, output, state: "done" } : entry));
}

/** A call's arguments as text, as "people: 2, time: seven"; unchanged if they are not a JSON object. */
export function argumentsText(args) {
  try {
    return Object.entries(JSON.parse(args)).map(([name, value]) => `${name}: ${value}`).join(", ");
  } catch {
    return args;
  }
}

function heard(entries, item) {
  const text = itemText(item);
  return entries.map((entry) => {
    if (entry.id !== item.id || entry.role !== "assistant") return entry;
    const said = entry.text + entry.cut;
    const kept = said.startsWith(text) ? text : said.slice(0, text.length);
    return { ...entry, text: kept, cut: said.slice(kept.length), state: "done" };
  });
}
