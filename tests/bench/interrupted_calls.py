"""Tools in real calls that are interrupted: `python tests/bench/interrupted_calls.py [CALLS] [AT ONCE]`.

Callers speak to a server over the Realtime API, and cut in at random: while a tool runs, or the agent speaks;
some hang up in the middle of it, or vanish without a word. At the end what the tools did and what is in each
history, the caller's and the server's own, must agree: no result is lost or invented, nothing done twice.
Exit 1 if not.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from served import served  # noqa: E402

from audio.pcm import Samples  # noqa: E402
from voiceagent.bench.speech import running_synthesizer  # noqa: E402
from voiceagent.config.tables import load  # noqa: E402
from voiceagent.transports.local_call import FORMAT, PacedSound, speak  # noqa: E402

SAYINGS = ("Book a table for me, please.", "And another one, please.", "Wait, one more for my mother.")
SILENCE = np.zeros(480, np.int16)
QUIET_S = 10.0
"""A call in which nothing has come for so long has ended all that it began: the tool takes two seconds, and a
busy machine may be seconds behind."""
LONGEST_S = 60.0


AGAIN_S = 1.0
HASTY = 0.3
"""Share of the callers who hang up in the middle of something, half of them without a word."""
HASTY_S = (1.5, 10.0)

ToolCall = tuple[str, tuple[str, ...]]
"""The table that it was for, and the outputs it has."""


@dataclass
class Call:
    """Outcome of one call. items: those of the history, by id."""

    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    interruptions: int = 0
    at_s: float = 0.0
    left: bool = False

    def take(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "conversation.item.done":
            self.items[event["item"]["id"]] = event["item"]
        if kind == "response.done":
            self.interruptions += event["response"]["status"] == "cancelled"
        self.at_s = time.monotonic()

    def tool_calls(self) -> list[ToolCall]:
        outputs: dict[str, list[str]] = {}
        for item in self.items.values():
            if item["type"] == "function_call_output":
                outputs.setdefault(item["call_id"], []).append(item["output"])
        called = [item for item in self.items.values() if item["type"] == "function_call"]
        of_known = [
            (json.loads(item["arguments"])["table"], tuple(outputs.pop(item["call_id"], ())))
            for item in called
        ]
        return of_known + [(f"no call ({call_id})", tuple(given)) for call_id, given in outputs.items()]


async def call(address: str, sayings: list[Samples]) -> Call:
    """One caller: a turn, then two that come when they like, and for some none of it to its end."""
    made = Call()
    leaves_s = random.uniform(*HASTY_S) if random.random() < HASTY else None
    async with await _connected(address) as connection:
        reading = asyncio.create_task(_read(connection, made))
        try:
            async with asyncio.timeout(leaves_s):
                await _speak(connection, made, sayings)
        except TimeoutError:
            made.left = True
            if random.random() < 0.5:
                connection.transport.abort()
        reading.cancel()
    return made


async def _connected(address: str) -> ClientConnection:
    """A server that is late refuses calls: who is refused tries again."""
    while True:
        try:
            return await connect(f"ws://{address}/v1/realtime?model=x", proxy=None, max_size=None)
        except InvalidStatus as refused:
            if refused.response.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
        await asyncio.sleep(AGAIN_S)


async def _speak(connection: ClientConnection, made: Call, sayings: list[Samples]) -> None:
    line = PacedSound(lambda _: None, time.monotonic)
    for sound in sayings:
        await _send(connection, line, sound)
        await _send(connection, line, np.zeros(round(random.uniform(0.4, 3.0) * FORMAT.rate_hz), np.int16))
    made.at_s = began_s = time.monotonic()
    while time.monotonic() - made.at_s < QUIET_S and time.monotonic() - began_s < LONGEST_S:
        await _send(connection, line, SILENCE)


async def _send(connection: ClientConnection, line: PacedSound, sound: Samples) -> None:
    for start in range(0, len(sound), len(SILENCE)):
        frame = sound[start : start + len(SILENCE)]
        await line.send(frame)
        audio = b64encode(frame.tobytes()).decode("ascii")
        await connection.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))


async def _read(connection: ClientConnection, made: Call) -> None:
    async for message in connection:
        made.take(json.loads(message))


@contextmanager
def told_of_ends() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield a URL for webhooks, and the list of the ended calls that it is notified of."""
    ended: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if event["type"] == "call.ended":
                ended.append(event["data"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is written."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", ended
    finally:
        server.shutdown()


def at_the_end(ended: dict[str, Any]) -> list[ToolCall]:
    """The calls of tools that the server's history has as a call ends; one that still runs has no output."""
    called = [said for said in ended["transcript"] if "tool" in said]
    return [
        (json.loads(said["arguments"])["table"], (said["output"],) if said["output"] else ())
        for said in called
    ]


def disagreements(heard: list[Call], ended: list[dict[str, Any]], effects: list[dict[str, str]]) -> list[str]:
    """Return the contradictions between histories and tools."""
    receipts = {effect["table"]: effect["receipt"] for effect in effects}
    twice = [table for table, times in Counter(effect["table"] for effect in effects).items() if times > 1]
    found = [f"{table} was booked twice" for table in twice]
    known = {table for one in ended for table, _ in at_the_end(one)}
    found += [f"{table} was booked, and no history knows" for table in receipts.keys() - known]
    found += (
        [] if len(ended) == len(heard) else [f"{len(ended)} of {len(heard)} calls were told to have ended"]
    )
    stayed = [called for made in heard if not made.left for called in made.tool_calls()]
    found += [f"{table} has {len(given)} outputs" for table, given in stayed if len(given) != 1]
    server_side = [called for one in ended for called in at_the_end(one)]
    for table, given in [*stayed, *server_side]:
        wanted = receipts.get(table)
        invented = [one for one in given if one != wanted and (wanted or one.startswith("receipt"))]
        found += [f"{table} was told as {one!r}, and was {wanted!r}" for one in invented]
    return found


async def measure(number: int, at_once: int) -> bool:
    """Make the calls and print what came of them; whether all agrees."""
    async with running_synthesizer(load(ROOT / "configs/demo.toml")) as synthesizer:
        sayings = [await speak(synthesizer, text) for text in SAYINGS]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for module in ("fixed_engines.py", "booking_agent.py"):
            shutil.copy(ROOT / "tests/bench" / module, folder)
        text = (ROOT / "tests/bench/fixed.toml").read_text()
        before, after = text.split("[llm]")
        after = after.split("[synthesizer]")[1]
        text = f'{before}[llm]\nengine = "booking_agent:BookingLlm"\n[synthesizer]{after}'
        agent = 'python = "booking_agent:Booking"'
        text = text.replace('instructions = "You are a helpful assistant."', agent)
        os.environ["BOOKING_SECRET"] = f"whsec_{b64encode(bytes(24)).decode()}"
        calls: list[Call] = []
        with told_of_ends() as (url, ended):
            hooks = f'[webhooks]\nurl = "{url}"\nsecret_env = "BOOKING_SECRET"\n'
            (folder / "served.toml").write_text(f"[server]\nmax_calls = {2 * at_once}\n{hooks}{text}")
            async with served(folder / "served.toml") as address:
                while len(calls) < number:
                    batch = min(at_once, number - len(calls))
                    calls += await asyncio.gather(*(call(address, sayings) for _ in range(batch)))
                    print(f"{len(calls)} calls", flush=True)
        effects = [json.loads(line) for line in (folder / "effects.jsonl").read_text().splitlines()]
    found = disagreements(calls, ended, effects)
    interruptions = sum(made.interruptions for made in calls)
    left = sum(made.left for made in calls)
    tools = sum(len(at_the_end(one)) for one in ended)
    what = (
        f"{interruptions} responses cut, {left} callers hung up, {tools} tool calls, {len(effects)} effects"
    )
    print(f"{len(calls)} calls, {what}")
    print("\n".join(found) or "no result lost or invented, nothing done twice, histories and tools agree")
    return not found


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(0 if asyncio.run(measure(*(given + [500, 40][len(given) :]))) else 1)
