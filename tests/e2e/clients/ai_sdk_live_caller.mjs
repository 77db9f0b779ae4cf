// Hold a Live session through Vercel's unmodified AI SDK: node ai_sdk_live_caller.mjs ADDRESS SOUND, 24 kHz PCM.
// The caller speaks, the client answers the delegation, is muted and unmuted, and closes the session.
// Prints the results as one line of JSON.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createOpenAI } from "@ai-sdk/openai";
import WebSocket from "ws";

const [address, sound] = process.argv.slice(2);
const provider = createOpenAI({ apiKey: "none", baseURL: `http://${address}/v1` });
const model = provider.experimental_realtime("gpt-live-1");
const config = {
  instructions: "Be brief.",
  voice: "marin",
  providerOptions: {
    openai: {
      delegation: { type: "client" },
      store: false,
      input: [{ type: "message", role: "developer", content: [{ type: "input_text", text: "The caller is Ann." }] }],
    },
  },
};
const came = { kinds: [], errors: [], unknown: [], user: "", assistant: "", acknowledged: [], delegations: [], bytes: 0 };
const { url, headers } = await model.getServerWebSocketConfig();
const socket = new WebSocket(url, { headers });
const parse = model.createServerEventParser();
const send = (event) => socket.send(JSON.stringify(model.serializeClientEvent(event)));

async function speak() {
  const audio = Buffer.concat([readFileSync(sound), Buffer.alloc(96_000)]);
  for (let at = 0; at < audio.length; at += 960) {
    send({ type: "input-audio-append", audio: audio.subarray(at, at + 960).toString("base64") });
    await sleep(20);
  }
}

function onEvent(event) {
  came.kinds.push(event.type);
  if (event.type === "error") came.errors.push([event.code, event.message]);
  if (event.type === "custom") came.unknown.push(event.rawType);
  if (event.type === "command-acknowledged") came.acknowledged.push([event.command, event.clientEventId]);
  if (event.type === "audio-chunk") came.bytes += Buffer.from(event.delta, "base64").length;
  if (event.type === "session-started") speak();
  if (event.type === "transcript-fragment") came[event.speaker] += event.delta;
  if (event.type === "transcript-fragment" && came.assistant.endsWith("sunny.")) {
    send({ type: "input-audio-mute", eventId: "mute" });
    send({ type: "input-audio-unmute", eventId: "unmute" });
    send({ type: "session-close" });
  }
  if (event.type === "delegation-created") {
    came.delegations.push([event.target, event.responseId ?? null]);
    const append = { type: "context-append", delegationId: event.delegationId };
    send({ ...append, content: "It is May.", eventId: "thinking" });
    send({ ...append, content: "sunny", eventId: "note", providerOptions: { openai: { channel: "commentary" } } });
  }
  if (event.type === "session-closed") {
    came.closed = [event.reason, event.usage.seconds > 0];
    socket.close();
  }
}

socket.on("open", () => send({ type: "session-start", config }));
socket.on("message", (data) => parse(JSON.parse(data.toString())).forEach(onEvent));
socket.on("close", () => console.log(JSON.stringify(came)));
