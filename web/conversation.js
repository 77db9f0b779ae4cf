// What both sides said, from the server's events. Pure: `spoken(words, event)` gives the new list of words.
//
// An entry: {id, role: "user" | "assistant", text, cut, state, typed}. `text` is what was said and heard, `cut` the
// rest of what the agent would have said. state: "listening" while words may still come, "done", "failed". typed:
// whether the caller wrote it. Or the call of a tool: {id, role: "tool", text: "", cut: "", state, call, name,
// args, output}; it is "listening" until its output is there, and args is what the model wrote.

/** What a server counts for an event beside its own bytes, and how much a new session is told: a quarter of what
 * the server takes at once unless `limits.max_bytes_per_s` is set, and more than a prompt of it holds. */
const EVENT_BYTES = 4_096;
const TOLD_BYTES = 1_000_000;
const TRANSCRIPTION = "conversation.item.input_audio_transcription";

/** The entries after an event of the Realtime API; the same list where the event says nothing of words. */
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

/** The item in which the agent was cut short, of which the server should be asked what was heard; or null. */
export function wasCut(event) {
  return event.type === "conversation.item.truncated" ? event.item_id : null;
}

/** Whether the caller's newest words were typed. */
export function lastTyped(entries) {
  return entries.findLast((entry) => entry.role === "user")?.typed ?? true;
}

/** The words of an item of the protocol, "" where it has none. */
export function itemText(item) {
  return (item.content ?? []).map((part) => part.text ?? part.transcript ?? "").join("\n");
}

/** Items that tell a new session what was said so far, each under its old id: a lost call goes on where it was. Of
 * a conversation that is too long for one go, the newest. */
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

/** Client events by which typed words are said: the agent stops for them, and answers. */
export function typedEvents(text) {
  const content = [{ type: "input_text", text }];
  return [
    { type: "output_audio_buffer.clear" }, // who types interrupts, too
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

/** Words that come after the cut were not heard either. */
function extended(entries, id, role, words) {
  return opened(entries, id, role).map((entry) => {
    if (entry.id !== id) return entry;
    return entry.cut ? { ...entry, cut: entry.cut + words } : { ...entry, text: entry.text + words };
  });
}

/** A noise that no word was heard in leaves no line. */
function understood(entries, id, transcript) {
  if (transcript.trim() === "") return entries.filter((entry) => entry.id !== id);
  return changed(opened(entries, id, "user"), id, { text: transcript, state: "done" });
}

/** Typed words come as an item that is complete; spoken ones are told by events of their own. Tools are items. */
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

/** The arguments of a call in words, as "people: 2, time: seven"; as they are where they are no JSON object. */
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
