#!/usr/bin/env bash
# openai-agents 0.24.0: when the caller interrupts "let me look that up", the conversation keeps the answer behind it as heard.
#
# The Realtime API makes speech faster than it plays: with a preamble of 5 s and a fast tool, the whole answer has arrived while
# the preamble still plays. Over a WebSocket the client reports what was heard, with `conversation.item.truncate`, and the SDK
# sends it at `speech_started`. One expects the preamble cut, and the answer removed. But the SDK takes the item that arrived
# last for the one that plays, from its arrival on: it cuts the answer at 2.5 s, though none of it was played, and keeps the whole
# preamble. With a `RealtimePlaybackTracker`, which is meant for this, it cuts the preamble at the right place and keeps the whole
# answer, as it never cuts an item behind the one that plays. Either way the model does not repeat what the caller did not hear.
# `audio_interrupted` names the answer, so an application that drops the audio of that item lets the preamble play on. No warning
# is logged. (The JavaScript SDK's transport for Twilio cuts the later items at zero since August 2026.) What helps: a tracker,
# and a `conversation.item.delete` for each waiting item at `audio_interrupted`, as below. A single item is cut right.
# Output seen: preamble alone: cut at 4.0 s, where the caller spoke; answer behind it: answer cut at 2.5 s; with a tracker:
# preamble cut at 4.0 s; with a tracker and a delete: preamble cut at 4.0 s, answer deleted.
# Seen with openai-agents 0.24.0, websockets 16.1.1, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile openai-agents==0.24.0 websockets==16.1.1
cat > "$folder/queued.py" <<'PYTHON'
import asyncio
import base64
import json
from importlib.metadata import version
from types import SimpleNamespace

import agents.realtime._default_tracker as default_tracker
import agents.realtime.openai_realtime as openai_realtime
from agents import function_tool, set_tracing_disabled
from agents.realtime import RealtimeAgent, RealtimeModelSendRawMessage, RealtimePlaybackTracker, RealtimeRunner
from websockets.asyncio.server import ServerConnection, serve

set_tracing_disabled(True)
clock = SimpleNamespace(monotonic=lambda: clock.now, now=0.0)
default_tracker.time = openai_realtime.time = clock  # so that a busy machine changes no figure
CALL = {"id": "call", "type": "function_call", "status": "completed", "name": "price", "call_id": "1", "arguments": "{}"}


@function_tool
def price() -> str:
    """Return the price."""
    return "80 euros"


class Server:
    """The Realtime API: a preamble of 5 s and a call of the tool, then an answer of 4 s; the caller speaks at 4 s."""

    def __init__(self, answers: bool) -> None:
        self.answers, self.came = answers, []
        self.played, self.done = asyncio.Event(), asyncio.Event()

    async def serve(self, socket: ServerConnection) -> None:
        self.socket = socket
        await self.until("session.update")
        await self.speak("preamble", 5, [CALL] if self.answers else [])
        if self.answers:
            await self.until("response.create")
            clock.now = 1.5
            await self.speak("answer", 4, [])
        await self.played.wait()
        clock.now = 4.0
        await self.send("input_audio_buffer.speech_started", audio_start_ms=4000, item_id="caller")
        await self.until("session.update")  # the client's sign that it has sent all
        self.done.set()

    async def send(self, kind: str, **event) -> None:
        await self.socket.send(json.dumps({"type": kind, "event_id": "event", **event}))

    async def until(self, kind: str) -> None:
        while not self.came or self.came[-1]["type"] != kind:
            self.came.append(json.loads(await self.socket.recv()))
        self.came.append({"type": "seen"})

    async def speak(self, item: str, seconds: int, calls: list[dict]) -> None:
        response = {"id": f"of {item}", "object": "realtime.response", "status": "completed", "output": []}
        where = {"response_id": f"of {item}", "item_id": item, "output_index": 0, "content_index": 0}
        await self.send("response.created", response=response)
        for _ in range(seconds):
            await self.send("response.output_audio.delta", delta=base64.b64encode(bytes(48_000)).decode(), **where)
        for call in calls:
            await self.send("response.output_item.done", response_id=f"of {item}", output_index=1, item=call)
        await self.send("response.done", response=response)


async def call(answers: bool, tracked: bool, deletes: bool) -> list[str]:
    """Return what the client tells the server when the caller interrupts, and which item it tells the application."""
    clock.now, server, last = 0.0, Server(answers), "answer" if answers else "preamble"
    tracker, heard_s = RealtimePlaybackTracker(), 0
    async with serve(server.serve, "127.0.0.1", 0) as listener:
        config = {"url": f"ws://127.0.0.1:{listener.sockets[0].getsockname()[1]}", "api_key": "none"}
        config |= {"playback_tracker": tracker} if tracked else {}
        session = await RealtimeRunner(RealtimeAgent(name="desk", tools=[price])).run(model_config=config)
        async with session:
            async for event in session:
                if event.type == "audio" and event.item_id == last:
                    heard_s += 1
                    if heard_s == (4 if answers else 5):
                        tracker.on_play_ms("preamble", 0, 4000)  # what the caller's loudspeaker has played by then
                        server.played.set()
                elif event.type == "audio_interrupted":
                    assert event.item_id == last
                    break
            if deletes:
                delete = {"type": "conversation.item.delete", "other_data": {"item_id": "answer"}}
                await session.model.send_event(RealtimeModelSendRawMessage(message=delete))
            await asyncio.sleep(0.2)
            update = {"type": "session.update", "other_data": {"session": {"type": "realtime"}}}
            await session.model.send_event(RealtimeModelSendRawMessage(message=update))
            await server.done.wait()
    sent = [event for event in server.came if "item_id" in event]
    return [" ".join([each["type"][18:], each["item_id"], str(each.get("audio_end_ms", ""))]).strip() for each in sent]


async def main() -> None:
    print("openai-agents", version("openai-agents"))
    for name, arguments, expected in (
        ("a preamble alone", (False, False, False), ["truncate preamble 4000"]),
        ("an answer behind it", (True, False, False), ["truncate answer 2500"]),
        ("with a tracker", (True, True, False), ["truncate preamble 4000"]),
        ("with a tracker and a delete", (True, True, True), ["delete answer", "truncate preamble 4000"]),
    ):
        told = await call(*arguments)
        print(f"  {name}: {told}")
        assert sorted(told) == expected


asyncio.run(asyncio.wait_for(main(), 120))
PYTHON
"$folder/venv/bin/python" "$folder/queued.py"
