import assert from "node:assert/strict";
import { test } from "node:test";

import { Call, mintKey } from "../../web/call.js";

const SESSION = { type: "realtime" };
const stays = () => new AbortController().signal;

/** As much of WebRTC as a call uses; the newest connection is `made`. */
let made;
class FakeConnection {
  constructor() {
    made = this;
    this.connectionState = "new";
    this.tracks = [];
    this.channel = { readyState: "connecting", sent: [], send: (text) => this.channel.sent.push(JSON.parse(text)) };
    this.closed = false;
  }

  createDataChannel(name) {
    this.channel.name = name;
    return this.channel;
  }

  addTrack(track) {
    this.tracks.push(track);
  }

  async setLocalDescription() {
    this.localDescription = { sdp: "offer" };
  }

  async setRemoteDescription(description) {
    this.remoteDescription = description;
    this.channel.readyState = "open";
  }

  close() {
    this.closed = true;
  }

  becomes(state) {
    this.connectionState = state;
    this.onconnectionstatechange?.();
  }
}
globalThis.RTCPeerConnection = FakeConnection;

/** The server answers each request with the next of these; returns what it was asked. */
function server(...answers) {
  const asked = [];
  globalThis.fetch = async (path, request) => {
    asked.push({ path, ...request });
    const answer = await answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return asked;
}

const ACCEPTED = () => new Response("answer", { status: 201, headers: { Location: "/v1/realtime/calls/rtc_1" } });
const REFUSED = (status, message) => Response.json({ error: { message } }, { status });
const stream = { getAudioTracks: () => ["the microphone"] };

/** A call that is open, and what it was told. */
async function opened({ key = "" } = {}) {
  const asked = server(ACCEPTED(), new Response());
  const events = [];
  const call = new Call((event) => events.push(event), () => {});
  await call.open(stream, SESSION, key, stays());
  return { call, asked, events };
}

test("a call is offered with its session, and the key where one is wanted", async () => {
  const { asked } = await opened({ key: "ek_1" });
  const [{ path, method, headers, body }] = asked;
  assert.deepEqual([path, method, headers.Authorization], ["/v1/realtime/calls", "POST", "Bearer ek_1"]);
  assert.deepEqual([body.get("sdp"), JSON.parse(body.get("session"))], ["offer", SESSION]);
  assert.deepEqual([made.tracks, made.channel.name, made.remoteDescription.sdp], [["the microphone"], "oai-events", "answer"]);
});

test("events go both ways over the data channel, and none once it is closed", async () => {
  const { call, events } = await opened();
  made.channel.onmessage({ data: '{"type":"session.created"}' });
  call.send({ type: "response.create" });
  made.channel.readyState = "closed";
  call.send({ type: "response.cancel" });
  assert.deepEqual(events, [{ type: "session.created" }]);
  assert.deepEqual(made.channel.sent, [{ type: "response.create" }]);
});

test("a call names the agent where one was chosen, and knows its id", async () => {
  const asked = server(ACCEPTED());
  const sent = [];
  const call = new Call(() => {}, () => {}, (event) => sent.push(event.type));
  await call.open(stream, SESSION, "", stays(), "night porter");
  assert.deepEqual([asked[0].path, call.id], ["/v1/realtime/calls?model=night%20porter", "rtc_1"]);
  call.send({ type: "response.create" });
  made.channel.readyState = "closed";
  call.send({ type: "response.cancel" });
  assert.deepEqual(sent, ["response.create"]);
});

test("who hangs up tells the server, with the key that began the call", async () => {
  const { call, asked } = await opened({ key: "ek_1" });
  call.hangUp();
  assert.equal(await call.ended, null);
  const [, { path, headers, keepalive }] = asked;
  assert.deepEqual([path, headers.Authorization, keepalive], ["/v1/realtime/calls/rtc_1/hangup", "Bearer ek_1", true]);
  assert.ok(made.closed);
});

test("a call that the server ends is not dialled again", async () => {
  const { call } = await opened();
  made.channel.onclose();
  const { code, retry } = await call.ended;
  assert.deepEqual([code, retry], ["ended", false]);
});

test("a connection that failed was dropped", async () => {
  const { call } = await opened();
  made.becomes("failed");
  const { code, retry } = await call.ended;
  assert.deepEqual([code, retry], ["dropped", true]);
});

test("a silent line is waited for, and gone after two seconds", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { call } = await opened();
  made.becomes("disconnected");
  t.mock.timers.tick(1_999);
  made.becomes("connected");
  t.mock.timers.tick(10_000);
  assert.ok(!made.closed, "it came back in time");
  made.becomes("disconnected");
  t.mock.timers.tick(2_000);
  assert.equal((await call.ended).code, "dropped");
});

test("a server that says no, or nothing, is told apart in words", async () => {
  const codes = [];
  for (const answer of [REFUSED(401, "no key"), REFUSED(503, "all 20 calls are taken"), new TypeError("no network")]) {
    server(answer);
    const call = new Call(() => {}, () => {});
    await call.open(stream, SESSION, "", stays()).catch(({ code }) => codes.push(code));
    assert.ok(made.closed);
  }
  assert.deepEqual(codes, ["key", "full", "unreachable"]);
});

test("a line on which no sound comes through is told after ten seconds", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  server(ACCEPTED(), new Response());
  const call = new Call(() => {}, () => {});
  made.setRemoteDescription = async () => setImmediate(() => t.mock.timers.tick(10_000));
  await assert.rejects(call.open(stream, SESSION, "", stays()), { code: "line" });
  assert.ok(made.closed);
});

test("who leaves while the server answers is not waited for, and hangs up when it has answered", async () => {
  let answer;
  const asked = server(new Promise((resolve) => (answer = resolve)), new Response());
  const leaving = new AbortController();
  const call = new Call(() => {}, () => {});
  const opening = call.open(stream, SESSION, "", leaving.signal);
  await new Promise(setImmediate);
  leaving.abort();
  await assert.rejects(opening);
  assert.deepEqual(asked.map(({ path }) => path), ["/v1/realtime/calls"]);
  answer(ACCEPTED());
  await new Promise(setImmediate);
  assert.equal(asked.at(-1).path, "/v1/realtime/calls/rtc_1/hangup");
});

test("a microphone takes the place of the one that is heard", async () => {
  const { call } = await opened();
  const replaced = [];
  made.getSenders = () => [{ replaceTrack: (track) => replaced.push(track) }];
  await call.replaceMicrophone({ getAudioTracks: () => ["another"] });
  assert.deepEqual(replaced, ["another"]);
});

test("a short-lived key is asked for with the one that was entered", async () => {
  const asked = server(Response.json({ value: "ek_1" }));
  assert.equal(await mintKey("secret"), "ek_1");
  assert.deepEqual([asked[0].path, asked[0].headers.Authorization], ["/v1/realtime/client_secrets", "Bearer secret"]);
});

test("a key that the server does not take is said to be wrong, and not to be missing", async () => {
  server(REFUSED(401, "no"));
  await assert.rejects(mintKey("guess"), { message: "The server refused this key" });
});

/** The hang-ups that the server is told of where the caller leaves so many steps after his offer was answered. */
async function hangUps(steps) {
  const leaving = new AbortController();
  const told = [];
  globalThis.fetch = async (path) => {
    if (path.endsWith("/hangup")) return told.push(path);
    let leave = Promise.resolve();
    for (let step = 0; step < steps; step += 1) leave = leave.then(() => {});
    leave.then(() => leaving.abort());
    return ACCEPTED();
  };
  const call = new Call(() => {}, () => {});
  made.setRemoteDescription = async () => {}; // and never opens
  await assert.rejects(call.open(stream, SESSION, "", leaving.signal));
  await new Promise((done) => setTimeout(done));
  return told;
}

test("who leaves while the line is made has hung up once, whenever he leaves", async () => {
  for (let steps = 0; steps < 20; steps += 1) {
    assert.deepEqual(await hangUps(steps), ["/v1/realtime/calls/rtc_1/hangup"], `after ${steps} steps`);
  }
});
