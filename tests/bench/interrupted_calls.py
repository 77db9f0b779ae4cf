"""Tools in real calls that are interrupted: `python tests/bench/interrupted_calls.py [CALLS] [AT ONCE]`.

Callers speak to a server over the Realtime API, and cut in at random: while a tool runs, or the agent speaks.
At the end what the tools did and what is in each history must agree: no result is lost or invented, nothing
done twice. Exit 1 if not.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sys
import tempfile
import time
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

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


@dataclass
class Call:
    """What one call came to. items: those of the history, by id."""

    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    interruptions: int = 0
    at_s: float = 0.0

    def take(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "conversation.item.done":
            self.items[event["item"]["id"]] = event["item"]
        if kind == "response.done":
            self.interruptions += event["response"]["status"] == "cancelled"
        self.at_s = time.monotonic()


async def call(address: str, sayings: list[Samples]) -> Call:
    """One caller: a turn, then two that come when they like."""
    made = Call()
    async with connect(f"ws://{address}/v1/realtime?model=x", proxy=None, max_size=None) as connection:
        reading = asyncio.create_task(_read(connection, made))
        line = PacedSound(lambda _: None, time.monotonic)
        for sound in sayings:
            await _send(connection, line, sound)
            await _send(
                connection, line, np.zeros(round(random.uniform(0.4, 3.0) * FORMAT.rate_hz), np.int16)
            )
        made.at_s = began_s = time.monotonic()
        while time.monotonic() - made.at_s < QUIET_S and time.monotonic() - began_s < LONGEST_S:
            await _send(connection, line, SILENCE)
        reading.cancel()
    return made


async def _send(connection: ClientConnection, line: PacedSound, sound: Samples) -> None:
    for start in range(0, len(sound), len(SILENCE)):
        frame = sound[start : start + len(SILENCE)]
        await line.send(frame)
        audio = b64encode(frame.tobytes()).decode("ascii")
        await connection.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))


async def _read(connection: ClientConnection, made: Call) -> None:
    async for message in connection:
        made.take(json.loads(message))


def disagreements(calls: list[Call], effects: list[dict[str, str]]) -> list[str]:
    """What histories and tools do not agree on."""
    found = []
    receipts = {effect["table"]: effect["receipt"] for effect in effects}
    twice = [table for table, times in Counter(effect["table"] for effect in effects).items() if times > 1]
    found += [f"{table} was booked twice" for table in twice]
    told = set()
    for made in calls:
        outputs: dict[str, list[str]] = {}
        for item in made.items.values():
            if item["type"] == "function_call_output":
                outputs.setdefault(item["call_id"], []).append(item["output"])
        for item in made.items.values():
            if item["type"] != "function_call":
                continue
            table, given = json.loads(item["arguments"])["table"], outputs.pop(item["call_id"], [])
            wanted = receipts.get(table)
            told.add(table)
            if len(given) != 1:
                found.append(f"{table} has {len(given)} outputs")
            elif wanted != given[0] and not (wanted is None and given[0].startswith("not done")):
                found.append(f"{table} was told as {given[0]!r}, and was {wanted!r}")
        found += [f"an output of no call: {outputs}"] if outputs else []
    found += [f"{table} was booked, and no history knows" for table in receipts.keys() - told]
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
        (folder / "served.toml").write_text(f"[server]\nmax_calls = {at_once}\n{text}")
        calls: list[Call] = []
        async with served(folder / "served.toml") as address:
            while len(calls) < number:
                batch = min(at_once, number - len(calls))
                calls += await asyncio.gather(*(call(address, sayings) for _ in range(batch)))
                print(f"{len(calls)} calls", flush=True)
        effects = [json.loads(line) for line in (folder / "effects.jsonl").read_text().splitlines()]
    found = disagreements(calls, effects)
    interruptions = sum(made.interruptions for made in calls)
    tools = sum(item["type"] == "function_call" for made in calls for item in made.items.values())
    print(f"{len(calls)} calls, {interruptions} responses cut, {tools} tool calls, {len(effects)} effects")
    print("\n".join(found) or "no result lost or invented, nothing done twice, histories and tools agree")
    return not found


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(0 if asyncio.run(measure(*(given + [500, 40][len(given) :]))) else 1)
