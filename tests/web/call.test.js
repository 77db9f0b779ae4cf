import assert from "node:assert/strict";
import { test } from "node:test";

import { Call } from "../../web/call.js";

/** A connection that answers nothing, and never opens. */
class SilentConnection {
  localDescription = { sdp: "v=0" };
  createDataChannel = () => ({ readyState: "connecting" });
  setLocalDescription = async () => {};
  setRemoteDescription = async () => {};
  close() {}
}

const answered = (location) => ({ ok: true, headers: new Headers({ Location: location }), text: async () => "v=0" });

/** The hang-ups that the server is told of where the caller leaves so many steps after his offer was answered. */
async function hangUps(steps) {
  const leaving = new AbortController();
  const told = [];
  globalThis.RTCPeerConnection = SilentConnection;
  globalThis.fetch = async (path) => {
    if (path.endsWith("/hangup")) return told.push(path);
    let leave = Promise.resolve();
    for (let step = 0; step < steps; step += 1) leave = leave.then(() => {});
    leave.then(() => leaving.abort());
    return answered("/v1/realtime/calls/1");
  };
  const call = new Call(() => {}, () => {});
  await assert.rejects(call.open({ getAudioTracks: () => [] }, {}, "", leaving.signal));
  await new Promise((done) => setTimeout(done));
  return told;
}

test("who leaves while the line is made has hung up once, whenever he leaves", async () => {
  for (let steps = 0; steps < 20; steps += 1) {
    assert.deepEqual(await hangUps(steps), ["/v1/realtime/calls/1/hangup"], `after ${steps} steps`);
  }
});
