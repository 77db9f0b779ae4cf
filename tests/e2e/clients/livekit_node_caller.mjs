// Call through LiveKit Agents' unmodified models for Node: node livekit_node_caller.mjs ADDRESS SOUND live|realtime,
// with SOUND 24 kHz PCM. A person speaks, and a tool is called; the Realtime answer is interrupted and truncated.
// Prints the results as one line of JSON.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { initializeLogger, llm } from "@livekit/agents";
import { realtime } from "@livekit/agents-plugin-openai";
import { AudioFrame } from "@livekit/rtc-node";
import { z } from "zod";

initializeLogger({ pretty: false, level: "silent" });
const [address, sound, kind] = process.argv.slice(2);
const came = { kinds: [], errors: [], tools: [], said: "", heard: [], truncated: 0 };
const weather = llm.tool({
  name: "weather",
  description: "Tell the weather of a city.",
  parameters: z.object({ city: z.string() }),
  execute: async () => "sunny",
});
const tools = new llm.ToolContext([weather]);

function follow(session) {
  session.on("error", (error) => came.errors.push(String(error.error ?? error)));
  session.on("openai_server_event_received", (event) => {
    came.kinds.push(event.type);
    if (event.type === "error") came.errors.push(event.error.message);
    if (event.type === "conversation.item.truncated") came.truncated += 1;
  });
  session.on("input_audio_transcription_completed", (event) => came.heard.push(event.transcript));
}

async function speak(session) {
  const samples = new Int16Array(readFileSync(sound).buffer.slice(0));
  const padded = new Int16Array(samples.length + 48_000);
  padded.set(samples);
  for (let at = 0; at + 480 <= padded.length; at += 480) {
    session.pushAudio(new AudioFrame(padded.slice(at, at + 480), 24_000, 1, 480));
    await sleep(20);
  }
}

async function live() {
  const model = new realtime.GPTLiveModel({ apiKey: "none", baseURL: `http://${address}/v1` });
  const session = model.session();
  follow(session);
  const called = new Promise((resolve) => session.on("function_call", resolve));
  session.on("transcript_delta", (delta) => (came.said += delta.text));
  await session._updateSession("Be brief.", undefined, tools);
  const speaking = speak(session);
  const call = await called;
  came.tools.push([call.name, call.args]);
  const output = { callId: call.callId, name: call.name, output: "sunny", isError: false };
  await session._appendItems([new llm.FunctionCallOutput(output)]);
  while (!came.said.endsWith("sunny.")) await sleep(20);
  await speaking;
  session.muteInput();
  session.unmuteInput();
  session._generateReply("Say goodbye.");
  while (!came.said.endsWith("goodbye..")) await sleep(20);
  await session.close();
}

async function turns() {
  const model = new realtime.RealtimeModel({ apiKey: "none", baseURL: `http://${address}/v1` });
  const session = model.session();
  follow(session);
  const generations = [];
  let wake = () => {};
  session.on("generation_created", (generation) => wake(generations.push(generation)));
  const next = async () => {
    while (!generations.length) await new Promise((resolve) => (wake = resolve));
    return generations.shift();
  };
  await session.updateInstructions("Be brief.");
  await session.updateTools(tools);
  await speak(session);
  const generation = await next();
  for await (const call of generation.functionStream) {
    came.tools.push([call.name, call.args]);
    const context = session.chatCtx.copy();
    const output = { callId: call.callId, name: call.name, output: "sunny, ".repeat(30), isError: false };
    context.insert(new llm.FunctionCallOutput(output));
    await session.updateChatCtx(context);
    break;
  }
  session.generateReply().catch((error) => came.errors.push(String(error)));
  for await (const message of (await next()).messageStream) {
    let frames = 0;
    for await (const frame of message.audioStream) {
      frames += 1;
      if (frames === 30) {
        await session.interrupt();
        await session.truncate({ messageId: message.messageId, audioEndMs: 300, modalities: ["text", "audio"] });
      }
    }
    for await (const text of message.textStream) came.said += text;
  }
  while (!came.truncated) await sleep(20);
  await session.close();
}

await (kind === "live" ? live() : turns());
came.kinds = [...new Set(came.kinds)].sort();
console.log(JSON.stringify(came));
process.exit(0);
