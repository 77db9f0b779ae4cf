// Call through Vercel's unmodified AI SDK: node ai_sdk_caller.mjs ADDRESS SOUND, with SOUND 24 kHz PCM.
// Prints the results as one line of JSON.
import { readFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import WebSocket from "ws";

const [address, sound] = process.argv.slice(2);
const provider = createOpenAI({ apiKey: "none", baseURL: `http://${address}/v1` });
const model = provider.experimental_realtime("gpt-realtime", { api: "realtime" });
const tool = {
  type: "function",
  name: "weather",
  description: "Tells the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};
const sessionConfig = { instructions: "Be brief.", voice: "marin", tools: [tool], outputModalities: ["audio"] };
const secret = await model.doCreateClientSecret({ sessionConfig, expiresAfterSeconds: 60 });
const { url, protocols } = model.getWebSocketConfig({ token: secret.token, url: secret.url });
// its URL is always wss://, and this server has no TLS in front
const socket = new WebSocket(url.replace("wss://", "ws://"), protocols);
const came = { kinds: [], unknown: [], errors: [], tools: [], heard: [], said: [] };
const send = (event) => socket.send(JSON.stringify(model.serializeClientEvent(event)));
let answers = 0;

socket.on("open", () => {
  send({ type: "session-update", config: sessionConfig });
  const audio = readFileSync(sound).toString("base64");
  send({ type: "conversation-item-create", item: { type: "audio-message", role: "user", audio } });
  send({ type: "response-create" });
});
socket.on("message", (data) => {
  const event = model.parseServerEvent(JSON.parse(data.toString()));
  came.kinds.push(event.type);
  if (event.type === "custom") came.unknown.push(event.rawType);
  if (event.type === "error") came.errors.push(event.message);
  if (event.type === "input-transcription-completed") came.heard.push(event.transcript);
  if (event.type === "audio-transcript-done") came.said.push(event.transcript);
  if (event.type === "function-call-arguments-done") {
    came.tools.push([event.name, JSON.parse(event.arguments)]);
    const item = { type: "function-call-output", callId: event.callId, name: event.name, output: "sunny" };
    send({ type: "conversation-item-create", item });
  }
  if (event.type === "response-done") {
    answers += 1;
    if (answers === 1) send({ type: "response-create" });
    else socket.close();
  }
});
socket.on("close", () => console.log(JSON.stringify(came)));
