import assert from "node:assert/strict";
import { test } from "node:test";

import { Transcript } from "../../web/transcript.js";
import { element, openPage } from "./fake_page.js";

openPage();

const user = { id: "a", role: "user", text: "when is breakfast", cut: "", state: "done" };
const agent = { id: "b", role: "assistant", text: "At seven.", cut: "", state: "done" };

/** A list that scrolls, and what was drawn into it. */
function drawn(...entries) {
  const list = element("ol");
  const scroller = element();
  Object.assign(scroller, { scrollHeight: 500, scrollTop: 0, clientHeight: 500 });
  scroller.append(list);
  const transcript = new Transcript(list);
  transcript.draw(entries);
  return { list, scroller, transcript };
}

test("who says what stands in the order in which it was said", () => {
  const { list } = drawn(user, agent);
  assert.deepEqual(list.words("speaker"), ["You", "Agent"]);
  assert.deepEqual(list.words("p"), ["when is breakfast", "At seven."]);
});

test("a line that changed is drawn anew in its place, and no other is touched", () => {
  const { list, transcript } = drawn(user, agent);
  const [first, second] = list.children;
  const words = second.children[1];
  transcript.draw([{ ...user, text: "When is breakfast?" }, agent]);
  assert.deepEqual(list.children, [first, second]);
  assert.equal(first.children[1].textContent, "When is breakfast?");
  assert.equal(second.children[1], words);
});

test("a line that is no entry any more is gone", () => {
  const { list, transcript } = drawn(user, agent);
  transcript.draw([agent]);
  assert.deepEqual(list.words("p"), ["At seven."]);
  assert.equal(list.dataset.empty, "false");
  transcript.draw([]);
  assert.equal(list.dataset.empty, "true");
  transcript.draw([agent]);
  assert.deepEqual(list.words("p"), ["At seven."], "it may come back");
});

test("what a barge-in cut is struck through, and said to be for who has the page read to him", () => {
  const { list } = drawn({ ...agent, text: "Breakfast is", cut: " at seven." });
  assert.deepEqual(list.words("del"), [" (not heard:)  at seven."]);
  assert.deepEqual(list.words("only-read"), [" (not heard:) "]);
});

test("of a reply of which nothing was heard only the cut is shown", () => {
  assert.deepEqual(drawn({ ...agent, text: "", cut: "Breakfast" }).list.words("note"), []);
});

test("a speaker without a word so far has no line, and one that was not understood says so", () => {
  const listening = { ...user, text: "", state: "listening" };
  const { list, transcript } = drawn(listening, agent);
  assert.deepEqual(list.words("p"), ["At seven."]);
  transcript.draw([{ ...listening, text: "when" }, agent]);
  assert.deepEqual(list.words("p"), ["when", "At seven."]);
  assert.equal(drawn(listening).list.dataset.empty, "true");
  assert.deepEqual(drawn({ ...listening, state: "failed" }).list.words("note"), ["no transcript: recognition failed"]);
});

test("a line is read aloud once it is whole", () => {
  const { list, transcript } = drawn({ ...user, state: "listening" });
  assert.equal(list.children[0].attributes["aria-busy"], "true");
  transcript.draw([user]);
  assert.equal(list.children[0].attributes["aria-busy"], "false");
});

test("a tool's call is shown as one, and its output when that is there", () => {
  const call = { id: "c", role: "tool", name: "order_taxi", args: '{"time": "six"}', output: "", state: "listening" };
  const { list, transcript } = drawn(call);
  assert.deepEqual([list.words("code"), list.words("note")], [["order_taxi(time: six)"], [" …"]]);
  transcript.draw([{ ...call, output: "ordered", state: "done" }]);
  assert.deepEqual(list.words("note"), [" ordered"]);
});

test("the newest words come into view, unless the caller has scrolled back to older ones", () => {
  const { scroller, transcript } = drawn(user);
  scroller.scrollHeight = 900;
  scroller.scrollTop = 390; // ten pixels above the end
  transcript.draw([user, agent]);
  assert.equal(scroller.scrollTop, 900);
  scroller.scrollTop = 100;
  transcript.draw([{ ...user, text: "hello" }, agent]);
  assert.equal(scroller.scrollTop, 100);
});
