// The call page: the call, and all panels that show its state.

import { playoutEvent, share, statistics } from "./browser-share.js";
import { Call, mintKey } from "./call.js";
import { openWith, readCall } from "./calls-api.js";
import { CallSound, stop } from "./call-sound.js";
import { asItems, hungUp, lastTyped, spoken, typedEvents, wasCut } from "./conversation.js";
import { DeviceMenus, fill } from "./device-menus.js";
import { EventLog } from "./event-log.js";
import { LiveEvents, typedLive } from "./live.js";
import { Line } from "./line.js";
import { CallError, givenUp } from "./messages.js";
import { Meter } from "./meter.js";
import { openMicrophone } from "./sound.js";
import { activity, statusText } from "./status.js";
import { clock } from "./timeline.js";
import { Transcript } from "./transcript.js";
import { answersSpeech, exported, makeTurn, showMs, summary, totalName, totalText } from "./turns.js";
import { drawChips, drawStrip, drawWaterfall } from "./waterfall.js";

const SESSION = {
  type: "realtime",
  audio: { input: { transcription: { model: "server" } } },
  voiceagent: { latency: true },
};

/** Waits until a call that is over can be read from the inspector. */
const KEPT_AFTER_MS = [500, 1500, 3000];

const $ = (id) => document.getElementById(id);
const transcript = new Transcript($("transcript"));
const meter = new Meter($("meter"), $("gauge"));
const menus = new DeviceMenus($("microphone"), $("speaker"));
const log = new EventLog($("events"), $("event-list"), $("event-count"));
const line = new Line(connect, lineChanged);

let entries = [];
let turns = [];
let selected = null;
let doing = "listening";
let key = "";
let unsent = "";
let server = {};
/** Id of the call in the inspector, "" if it is not kept. */
let keptId = "";
let muted = false;
/** Start of the call in milliseconds of `performance.now`, null without a call; and the timer of its clock. */
let began = null;
let ticking = null;
/** Pending update of the device menus. */
let devices = Promise.resolve();
/** The call's audio; set while a call is running. */
let sound = null;
/** Connection statistics at the end of the previous turn. */
let before = null;

// ---- connection

/** again: reconnect a dropped call with the conversation so far. */
async function connect(again, leaving) {
  sound ??= await openSound();
  leaving.throwIfAborted();
  const opened = sound;
  const live = $("api").value === "live";
  const translated = new LiveEvents((event) => follow(event, call), () => opened.ears.takeLatestWait());
  const call = new Call(
    (event) => {
      log.add(event, false, passedS());
      if (live) translated.take(event);
      else follow(event, call);
    },
    async (stream) => {
      $("voice").srcObject = stream;
      await opened.followAgent(stream);
    },
    (event) => log.add(event, true, passedS()),
  );
  const said = again ? asItems(entries) : [];
  if (live) {
    const voice = $("agent-voice").value;
    await call.openLive(opened.microphone, voice, said, key, leaving, $("agent").value);
  } else {
    const extensions = { ...SESSION.voiceagent, greeting: said.length === 0 };
    await call.open(opened.microphone, { ...sessionOf(), voiceagent: extensions }, key, leaving, $("agent").value);
  }
  linkKept(live ? "" : call.id);
  for (const item of live ? [] : said) call.send({ type: "conversation.item.create", item });
  before = await statistics(call.connection);
  if (unsent) say(call);
  return call;
}

/** The session with the selected voice. */
function sessionOf() {
  const voice = $("agent-voice").value;
  return voice ? { ...SESSION, audio: { ...SESSION.audio, output: { voice } } } : SESSION;
}

/** Link to the call in the inspector, if calls are kept. */
function linkKept(id) {
  keptId = server.keepsCalls ? id : "";
  $("kept").hidden = !keptId;
  $("kept").href = `/calls#/${id}`;
}

async function openSound() {
  const opened = new CallSound(meter, devicesChanged);
  opened.mute(muted);
  const why = await opened.open(menus.microphone);
  if (why) show(why);
  await opened.followMicrophone();
  await menus.show();
  return opened;
}

function lineChanged(state, error) {
  document.body.dataset.line = state;
  if (state === "live") {
    doing = "listening";
    if (["dropped", "unreachable", "unavailable"].includes($("problem").dataset.code)) hide();
  }
  if (error) show(state === "idle" ? givenUp(error) : error);
  if (state === "idle") {
    letGo();
    if (keptId) markUnheard(keptId);
  }
  if (state === "live") startClock();
  const idle = state === "idle";
  $("talk").querySelector("span").textContent = idle ? "Talk" : "Hang up";
  $("mute").disabled = idle;
  $("agent").disabled = $("agent-voice").disabled = $("api").disabled = !idle;
  showStatus();
}

// ---- the call's clock

function passedS() {
  return began === null ? 0 : (performance.now() - began) / 1000;
}

/** A call that was reconnected goes on. */
function startClock() {
  began ??= performance.now();
  ticking ??= setInterval(() => ($("clock").textContent = clock(passedS())), 250);
}

function stopClock() {
  clearInterval(ticking);
  ticking = null;
}

function mute() {
  muted = !muted;
  sound?.mute(muted);
  $("mute").setAttribute("aria-pressed", String(muted));
  $("mute").textContent = muted ? "Muted" : "Mute";
}

function letGo() {
  stopClock();
  sound?.close();
  sound = null;
  meter.clear();
  $("voice").srcObject = null;
}

/** Mark what was not heard of the last answer, once the server has kept the call. The next call goes before. */
async function markUnheard(id) {
  for (const ms of KEPT_AFTER_MS) {
    await new Promise((passed) => setTimeout(passed, ms));
    try {
      if (key) await openWith(key);
      const { call, responses } = await readCall(id);
      if (document.body.dataset.line !== "idle" || keptId !== id) return;
      if (call.state === "running") continue;
      entries = hungUp(entries, responses);
      transcript.draw(entries);
    } catch {
      // the key may call only, or the call was not kept: its transcript stays as it is
    }
    return;
  }
}

function showStatus() {
  const state = document.body.dataset.line;
  document.body.dataset.activity = state === "live" ? doing : "";
  $("status").textContent = statusText(state === "live" ? doing : state);
}

// ---- server events

/** Handle a server event of the Realtime API. call: the call that received it. */
async function follow(event, call) {
  entries = spoken(entries, event);
  transcript.draw(entries);
  doing = activity(doing, event);
  showStatus();
  const cut = wasCut(event);
  if (cut) call.send({ type: "conversation.item.retrieve", item_id: cut });
  if (event.type === "response.created") sound?.ears.replyBegins(!lastTyped(entries));
  if (event.type === "error") show(new CallError("event", "The server reported an error", event.error.message));
  if (event.type === "voiceagent.latency") await addTurn(event, call);
}

const UNMEASURED = { jitterMs: null, outputMs: null, lineMs: null };

/** The report arrives when the response's last audio was sent; the browser's own figures are known by then. */
async function addTurn(report, call) {
  const after = await statistics(call.connection);
  if (!sound) return;
  const live = report.stages[0]?.name === "whole";
  const browser = live ? UNMEASURED : share(before, after); // the whole wait has the browser's share
  before = after;
  const said = entries.find((entry) => entry.id === report.turn_id)?.text ?? "";
  const heardMs = answersSpeech(report) && !live ? sound.ears.waitMs : null;
  if (!live) call.send(playoutEvent(report.turn_id, browser, heardMs));
  turns = [...turns, makeTurn(report, browser, heardMs, said, new Date().toISOString())];
  select(turns.at(-1));
}

function select(turn) {
  selected = turn;
  const { wait, turns: counted } = summary(turns);
  $("turn").hidden = false;
  $("turn").parentElement.dataset.turns = String(turns.length);
  $("export").disabled = false;
  $("total").textContent = totalText(turn);
  $("total-name").textContent = totalName(turn);
  $("said").textContent = turn.said ? `“${turn.said.trim()}”` : "";
  const figures = `p50 ${showMs(wait.p50)} ms, p95 ${showMs(wait.p95)} ms of ${counted} spoken`;
  $("percentiles").textContent = counted > 0 ? figures : "";
  drawChips($("chips"), turn);
  drawWaterfall($("waterfall"), turn, turns);
  drawStrip($("strip"), turns, selected, select);
}

// ---- caller actions

function press() {
  if (document.body.dataset.line === "idle") {
    hide();
    newCall();
    line.dial();
  } else {
    line.hangUp();
  }
}

/** Clear what belongs to the call before, except the transcript, which stays to be read. */
function newCall() {
  began = null;
  $("clock").textContent = clock(0);
  $("kept").hidden = true;
  log.clear();
}

function say(call) {
  if ($("api").value === "live") {
    // the API has no event with a typed message
    entries = [...entries, { id: `typed-${entries.length}`, role: "user", text: unsent, cut: "", state: "done", typed: true }];
    transcript.draw(entries);
  }
  for (const event of $("api").value === "live" ? typedLive(unsent) : typedEvents(unsent)) call.send(event);
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
  const opened = sound;
  if (!opened || !line.call) return;
  try {
    const stream = await openMicrophone(menus.microphone);
    if (sound !== opened) return stop(stream); // hung up meanwhile
    opened.replaceMicrophone(stream);
    await line.call?.replaceMicrophone(stream);
    await opened.followMicrophone();
    if ($("problem").dataset.code === "microphone") hide();
  } catch (error) {
    show(error);
  }
}

/** One at a time: unplugging a microphone is reported twice, and only one must be opened. */
function devicesChanged() {
  devices = devices.then(lookForDevices);
  return devices;
}

/** If the microphone was unplugged during the call, open the one that is available now. */
async function lookForDevices() {
  await menus.show();
  if (sound?.lost) await chooseMicrophone();
}

function saveTurns() {
  const { version, engines } = server;
  const text = JSON.stringify(exported(turns, { version, engines }, new Date()), null, 2);
  save(text, "voiceagent-turns.json", "application/json");
}

function save(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}

// ---- messages

/** Show an error with its advice. */
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
    const { engines, version, about, agents = [], voices = [], keeps_calls: keepsCalls } = await (await fetch("/health")).json();
    server = { version, engines, keepsCalls };
    offer("agent", agents);
    offer("agent-voice", voices);
    $("about").textContent = about ?? "";
    $("server").textContent = `${Object.values(engines).join(" · ")}  ${version}`;
  } catch {
    $("server").textContent = "";
  }
}

/** Show a menu of names, if there is a choice. */
function offer(id, names) {
  fill($(id), names.map((name) => ({ id: name, label: name })));
  $(id).parentElement.hidden = names.length === 0;
}

$("talk").addEventListener("click", press);
$("mute").addEventListener("click", mute);
$("save-events").addEventListener("click", () => save(log.text, "voiceagent-events.jsonl", "application/jsonl"));
$("text-form").addEventListener("submit", typed);
$("key-form").addEventListener("submit", withKey);
$("problem-close").addEventListener("click", hide);
$("export").addEventListener("click", saveTurns);
$("microphone").addEventListener("change", chooseMicrophone);
$("speaker").addEventListener("change", () => $("voice").setSinkId?.(menus.speaker));
navigator.mediaDevices?.addEventListener?.("devicechange", devicesChanged);
window.addEventListener("pagehide", () => line.hangUp());
showServer();
menus.show();
