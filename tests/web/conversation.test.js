import assert from "node:assert/strict";
import { test } from "node:test";

import { argumentsText, asItems, hungUp, lastTyped, spoken, typedEvents, wasCut } from "../../web/conversation.js";

const TRANSCRIPTION = "conversation.item.input_audio_transcription";
const after = (...events) => events.reduce(spoken, []);
const speechStarted = { type: "input_audio_buffer.speech_started", item_id: "a" };
const understood = (transcript) => ({ type: `${TRANSCRIPTION}.completed`, item_id: "a", transcript });
const says = (delta) => ({ type: "response.output_audio_transcript.delta", item_id: "b", delta });
const retrieved = (transcript) => ({
  type: "conversation.item.retrieved",
  item: { id: "b", type: "message", role: "assistant", content: [{ type: "output_audio", transcript }] },
});
const typed = { id: "c", type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] };

test("who begins to speak has a line before any word is understood", () => {
  const [entry] = after(speechStarted);
  assert.deepEqual([entry.role, entry.text, entry.state], ["user", "", "listening"]);
});

test("words that are certain are shown as they come, and the final ones in their place", () => {
  const delta = (words) => ({ type: `${TRANSCRIPTION}.delta`, item_id: "a", delta: words });
  const live = after(speechStarted, delta("when"), delta(" is"));
  assert.equal(live[0].text, "when is");
  assert.equal(spoken(live, understood("when is breakfast"))[0].text, "when is breakfast");
});

test("a noise without words leaves no line", () => {
  assert.deepEqual(after(speechStarted, understood(" ")), []);
});

test("what a barge-in cut is kept apart from what was heard", () => {
  const [entry] = after(says("Breakfast is "), says("at seven."), retrieved("Breakfast is"));
  assert.equal(entry.text, "Breakfast is");
  assert.equal(entry.cut, " at seven.");
});

test("what a hang-up cut is kept apart from what was heard, as the kept call says", () => {
  const [before] = after(says("At eight.")).map((entry) => ({ ...entry, id: "before" }));
  const entries = [before, ...after(says("Breakfast is "), says("at seven."))];
  const response = { status: "hung_up", written: "Breakfast is at seven. And you?", heard: "Breakfast is" };
  const [first, last] = hungUp(entries, [{ ...response, heard: "At eight." }, response]);
  assert.deepEqual([last.text, last.cut], ["Breakfast is", " at seven."]);
  assert.equal(first.text, "At eight.");
});

test("an answer that was heard to its end, or is another one, is left as it is after a hang-up", () => {
  const entries = after(says("At seven."));
  const response = { status: "hung_up", written: "At seven.", heard: "At" };
  for (const other of [{ status: "completed" }, { heard: null }, { written: "At eight." }]) {
    assert.equal(hungUp(entries, [{ ...response, ...other }]), entries);
  }
  assert.equal(hungUp(entries, []), entries);
  assert.deepEqual(hungUp([], [response]), []);
});

test("words that came after the cut are cut as well", () => {
  const [entry] = after(says("One two "), retrieved("One"), says("three"));
  assert.deepEqual([entry.text, entry.cut], ["One", " two three"]);
});

test("a reply of which nothing was heard is cut from its first word", () => {
  const [entry] = after(says("Breakfast"), retrieved(""));
  assert.deepEqual([entry.text, entry.cut], ["", "Breakfast"]);
});

test("the server is asked what was heard only where the agent was cut short", () => {
  assert.equal(wasCut({ type: "conversation.item.truncated", item_id: "b" }), "b");
  assert.equal(wasCut({ type: "response.done" }), null);
});

test("typed words are a line at once, and known as typed", () => {
  const entries = after({ type: "conversation.item.added", item: typed });
  assert.equal(entries[0].text, "hello");
  assert.ok(lastTyped(entries));
  assert.ok(!lastTyped(after(speechStarted)));
});

test("typed words stop the agent before they are answered", () => {
  const [clear, create, respond] = typedEvents("hello");
  assert.equal(clear.type, "output_audio_buffer.clear");
  assert.deepEqual(create.item, { type: "message", role: "user", content: typed.content });
  assert.equal(respond.type, "response.create");
});

test("a new call is told what both sides said and heard, not what was cut", () => {
  const entries = after(speechStarted, understood("when"), says("At seven. Bye."), retrieved("At seven."));
  assert.deepEqual(
    asItems(entries).map(({ role, content }) => [role, content[0].type, content[0].text]),
    [
      ["user", "input_text", "when"],
      ["assistant", "output_text", "At seven."],
    ],
  );
});

test("what a new call was told is no news when it comes back", () => {
  const entries = after(speechStarted, understood("when"));
  const [item] = asItems(entries);
  const told = spoken(entries, { type: "conversation.item.added", item });
  assert.deepEqual(told.map(({ text }) => text), ["when"]);
});

test("of a conversation of hours a new call is told the newest, less than the server takes at once", () => {
  const lines = Array.from({ length: 1500 }, (_, n) => ({ id: `n${n}`, role: "user", text: `line ${n}` }));
  const items = asItems(lines);
  const sent = items.reduce((sum, item) => sum + 4_096 + JSON.stringify(item).length, 0);
  assert.ok(sent < 4 * 1_048_576 && items.length > 200);
  assert.equal(items.at(-1).id, "n1499");
});

const called = (item) => ({ type: "conversation.item.added", item });
const call = { id: "d", type: "function_call", call_id: "1", name: "order_taxi", arguments: '{"time":"six"}' };

test("the call of a tool is a line, and has its output when that comes", () => {
  const entries = after(called(call));
  assert.deepEqual([entries[0].role, entries[0].name, entries[0].state], ["tool", "order_taxi", "listening"]);
  const output = { id: "e", type: "function_call_output", call_id: "1", output: "ordered" };
  const [ended, ...others] = spoken(entries, called(output));
  assert.deepEqual([ended.output, ended.state, others], ["ordered", "done", []]);
});

test("a new call is not told of tools that were called", () => {
  assert.deepEqual(asItems(after(called(call))), []);
});

test("arguments are shown in words where they can be read", () => {
  assert.equal(argumentsText('{"people": 2, "time": "seven"}'), "people: 2, time: seven");
  assert.equal(argumentsText("{peo"), "{peo");
});

test("events that say nothing of words change nothing", () => {
  const entries = after(speechStarted);
  assert.equal(spoken(entries, { type: "rate_limits.updated" }), entries);
});
