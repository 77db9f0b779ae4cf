// The page: the call, and everything that shows what goes on in it.

import { playoutEvent, share, statistics } from "./browser-share.js";
import { Call, mintKey } from "./call.js";
import { asItems, lastTyped, spoken, typedEvents, wasCut } from "./conversation.js";
import { Ears } from "./ears.js";
import { Line } from "./line.js";
import { CallError, givenUp } from "./messages.js";
import { Meter } from "./meter.js";
import { Levels, canChooseSpeaker, listDevices, openMicrophone } from "./sound.js";
import { activity, statusText } from "./status.js";
import { Transcript } from "./transcript.js";
import { exported, makeTurn, showMs, summary } from "./turns.js";
import { drawChips, drawStrip, drawWaterfall } from "./waterfall.js";

const SESSION = {
  type: "realtime",
  audio: { input: { transcription: { model: "server" } } },
  voiceagent: { latency: true },
};

const $ = (id) => document.getElementById(id);
const transcript = new Transcript($("transcript"));
const meter = new Meter($("meter"), $("gauge"));
const line = new Line(connect, lineChanged);

let entries = [];
let turns = [];
let selected = null;
let doing = "listening";
let key = "";
let unsent = "";
let server = {};
/** The newest look at what is plugged in. */
let devices = Promise.resolve();
/** What a call holds while it lasts: levels, ears, the microphone, and how to stop listening to it. */
let held = null;

// ---- the line

/** again: a call that dropped is taken up anew, with what was said so far. */
async function connect(again, leaving) {
  held ??= await openSound();
  leaving.throwIfAborted();
  const { ears, levels } = held;
  const call = new Call(
    (event) => receive(event, call),
    async (stream) => {
      $("voice").srcObject = stream;
      await levels.subscribe(stream, (level, atS) => {
        ears.agent(level, atS);
        meter.hear("agent", level, atS);
      });
    },
  );
  const said = again ? asItems(entries) : [];
  const extensions = { ...SESSION.voiceagent, greeting: said.length === 0 };
  await call.open(held.microphone, { ...SESSION, voiceagent: extensions }, key, leaving);
  for (const item of said) call.send({ type: "conversation.item.create", item });
  held.before = await statistics(call.connection);
  if (unsent) say(call);
  return call;
}

/** The microphone and what listens to it; without one the call is typed, and heard. */
async function openSound() {
  const levels = new Levels();
  const opened = { levels, ears: new Ears(), microphone: null, unsubscribe: () => {}, before: null };
  try {
    opened.microphone = await openMicrophone($("microphone").value);
  } catch (error) {
    show(error);
    opened.microphone = levels.silence();
  }
  await monitorMicrophone(opened);
  await showDevices();
  return opened;
}

async function monitorMicrophone(opened) {
  for (const track of opened.microphone.getAudioTracks()) track.addEventListener("ended", devicesChanged);
  opened.unsubscribe();
  opened.unsubscribe = await opened.levels.subscribe(opened.microphone, (level, atS) => {
    opened.ears.caller(level, atS);
    meter.hear("caller", level, atS);
  });
}

function lineChanged(state, error) {
  document.body.dataset.line = state;
  if (state === "live") {
    doing = "listening";
    if (["dropped", "unreachable", "unavailable"].includes($("problem").dataset.code)) hide();
  }
  if (error) show(state === "idle" ? givenUp(error) : error);
  if (state === "idle") letGo();
  $("talk").querySelector("span").textContent = state === "idle" ? "Talk" : "Hang up";
  showStatus();
}

function letGo() {
  held?.unsubscribe();
  if (held) stop(held.microphone);
  held?.levels.close();
  held = null;
  meter.clear();
  $("voice").srcObject = null;
}

function showStatus() {
  const state = document.body.dataset.line;
  document.body.dataset.activity = state === "live" ? doing : "";
  $("status").textContent = statusText(state === "live" ? doing : state);
}

// ---- what the server tells

/** Take a server event in. call: where it came from. */
async function receive(event, call) {
  entries = spoken(entries, event);
  transcript.draw(entries);
  doing = activity(doing, event);
  showStatus();
  const cut = wasCut(event);
  if (cut) call.send({ type: "conversation.item.retrieve", item_id: cut });
  if (event.type === "response.created") held?.ears.replyBegins(!lastTyped(entries));
  if (event.type === "error") show(new CallError("event", "The server objects", event.error.message));
  if (event.type === "voiceagent.latency") await addTurn(event, call);
}

/** The report comes when the reply's last sound was sent: what the browser made of it is known by then. */
async function addTurn(report, call) {
  const after = await statistics(call.connection);
  if (!held) return;
  const browser = share(held.before, after);
  held.before = after;
  const said = entries.find((entry) => entry.id === report.turn_id)?.text ?? "";
  const spokenTurn = report.stages[0]?.name === "endpointing";
  const heardMs = spokenTurn ? held.ears.waitMs : null;
  call.send(playoutEvent(report.turn_id, browser, heardMs));
  turns = [...turns, makeTurn(report, browser, heardMs, said, new Date().toISOString())];
  select(turns.at(-1));
}

function select(turn) {
  selected = turn;
  const { total, turns: counted } = summary(turns);
  $("turn").hidden = false;
  $("turn").parentElement.dataset.turns = String(turns.length);
  $("export").disabled = false;
  $("total").textContent = showMs(turn.totalMs);
  $("said").textContent = turn.said ? `“${turn.said.trim()}”` : "";
  const figures = `p50 ${showMs(total.p50)} ms, p95 ${showMs(total.p95)} ms of ${counted} spoken`;
  $("percentiles").textContent = counted > 0 ? figures : "";
  drawChips($("chips"), turn);
  drawWaterfall($("waterfall"), turn, turns);
  drawStrip($("strip"), turns, selected, select);
}

// ---- what the caller does

function press() {
  if (document.body.dataset.line === "idle") {
    hide();
    line.dial();
  } else {
    line.hangUp();
  }
}

function say(call) {
  for (const event of typedEvents(unsent)) call.send(event);
  unsent = "";
}

function typed(event) {
  event.preventDefault();
  const text = $("text").value.trim();
  $("text").value = "";
  if (!text) return;
  unsent = unsent ? `${unsent}\n${text}` : text;
  if (line.call) say(line.call);
  else if (document.body.dataset.line === "idle") press();
}

async function withKey(event) {
  event.preventDefault();
  try {
    key = await mintKey($("key").value);
    $("key").value = "";
    press();
  } catch (error) {
    show(error);
  }
}

async function chooseMicrophone() {
  const opened = held;
  if (!opened || !line.call) return;
  try {
    const stream = await openMicrophone($("microphone").value);
    if (held !== opened) return stop(stream); // hung up meanwhile
    stop(opened.microphone);
    opened.microphone = stream;
    await line.call?.replaceMicrophone(stream);
    await monitorMicrophone(opened);
    if ($("problem").dataset.code === "microphone") hide();
  } catch (error) {
    show(error);
  }
}

function stop(stream) {
  for (const track of stream.getTracks()) track.stop();
}

/** One after the other: who unplugs a microphone is told of it twice, and one is to be opened. */
function devicesChanged() {
  devices = devices.then(lookForDevices);
  return devices;
}

/** Where the microphone was unplugged in the call, the one that there is instead, or again, is taken. */
async function lookForDevices() {
  await showDevices();
  if (held?.microphone.getAudioTracks().some((track) => track.readyState === "ended")) await chooseMicrophone();
}

async function showDevices() {
  const { inputs, outputs } = await listDevices();
  fill($("microphone"), inputs);
  fill($("speaker"), outputs);
  $("speaker").disabled = !canChooseSpeaker;
}

function fill(menu, devices) {
  const chosen = menu.value;
  const options = devices.map(({ id, label }) => new Option(label, id));
  menu.replaceChildren(new Option("Default", ""), ...options);
  menu.value = devices.some(({ id }) => id === chosen) ? chosen : "";
}

function save() {
  const text = JSON.stringify(exported(turns, server, new Date()), null, 2);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "voiceagent-turns.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}

// ---- messages

/** Tell what went wrong, and what helps. */
function show(error) {
  $("problem").hidden = false;
  $("problem").dataset.code = error.code;
  $("problem-title").textContent = `${error.message}.`;
  $("problem-advice").textContent = error.advice ?? "";
  $("key-form").hidden = error.code !== "key";
}

function hide() {
  $("problem").hidden = true;
}

async function showServer() {
  try {
    const { engines, version, about } = await (await fetch("/health")).json();
    server = { version, engines };
    $("about").textContent = about ?? "";
    $("server").textContent = `${Object.values(engines).join(" · ")}  ${version}`;
  } catch {
    $("server").textContent = "";
  }
}

$("talk").addEventListener("click", press);
$("text-form").addEventListener("submit", typed);
$("key-form").addEventListener("submit", withKey);
$("problem-close").addEventListener("click", hide);
$("export").addEventListener("click", save);
$("microphone").addEventListener("change", chooseMicrophone);
$("speaker").addEventListener("change", () => $("voice").setSinkId?.($("speaker").value));
navigator.mediaDevices?.addEventListener?.("devicechange", devicesChanged);
window.addEventListener("pagehide", () => line.hangUp());
showServer();
showDevices();
