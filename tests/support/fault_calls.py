"""Calls under faults: callers who note how each of their turns ended, and the one oracle of all faults.

After a fault each call is answered again or cleanly ended within `WITHIN_S`; no call that the fault does not
touch notices; and the server's counters agree with what the callers saw.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from audio.pcm import AudioFormat, encode

WITHIN_S = 10.0
"""After a fault, the time until a call is answered again or has ended."""
PATIENCE_S = 30.0
"""What ends a test that hangs."""
CLEAN = (1000, 1001, 1006, 1011, 1012, 1013)
"""How a connection may end: by a close of the server's, or with the process that had it."""
SPOKEN = encode(np.zeros(12_000, np.int16), AudioFormat.PCM_24K)

LONG = pytest.mark.skipif("VOICEAGENT_LONG_TESTS" not in os.environ, reason="left to `make faults`")
"""Marks what would make all tests take too long."""

Status = Literal["completed", "failed", "cancelled", "incomplete", "ended"]


@dataclass
class FaultCaller:
    """A call over the Realtime protocol, whose turns the client takes by hand."""

    connection: ClientConnection
    seen: Counter[str] = field(default_factory=Counter)
    said: str = ""
    heard_bytes: int = 0

    async def setup(self) -> None:
        session = {"type": "realtime", "audio": {"input": {"turn_detection": None}}}
        await self._send(type="session.update", session=session)
        await self.until("session.updated")

    async def ask(self, spoken: bool = False) -> None:
        """Ask for a response: in silence, or to what the caller says."""
        self.said, self.heard_bytes = "", 0
        if spoken:
            sound = base64.b64encode(SPOKEN).decode()
            await self._send(type="input_audio_buffer.append", audio=sound)
            await self._send(type="input_audio_buffer.commit")
        await self._send(type="response.create")

    async def type(self, text: str) -> None:
        """Put in what the caller types, without asking for a response."""
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "user", "content": content}
        await self._send(type="conversation.item.create", item=item)

    async def until(self, kind: str) -> dict[str, Any]:
        """The next event of a kind. Raises ConnectionClosed, TimeoutError."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                event = json.loads(await self.connection.recv())
                match event["type"]:
                    case "response.output_audio_transcript.delta":
                        self.said += event["delta"]
                    case "response.output_audio.delta":
                        self.heard_bytes += len(event["delta"]) * 3 // 4
                    case "response.done":
                        self.seen[event["response"]["status"]] += 1
                if event["type"] == kind:
                    return dict(event)

    async def outcome(self) -> Status:
        """Return how the last turn ends."""
        try:
            status: Status = (await self.until("response.done"))["response"]["status"]
        except ConnectionClosed as closed:
            assert closed.rcvd is None or closed.rcvd.code in CLEAN, closed
            return "ended"
        return status

    async def turn(self, spoken: bool = False) -> Status:
        """Ask, and hear the answer out."""
        try:
            await self.ask(spoken)
        except ConnectionClosed:
            return "ended"
        return await self.outcome()

    async def answered_again_or_ended(self, spoken: bool = False) -> Status:
        """The oracle: "completed" or "ended", soon. Turns in between fail with words, not in silence."""
        async with asyncio.timeout(WITHIN_S):
            while (status := await self.turn(spoken)) not in ("completed", "ended"):
                assert status == "failed", status
        return status

    async def _send(self, **event: Any) -> None:
        await self.connection.send(json.dumps(event))


@asynccontextmanager
async def calling(address: str) -> AsyncIterator[FaultCaller]:
    """A call that has begun."""
    async with connect(f"ws://{address}/v1/realtime?model=x", proxy=None) as connection:
        caller = FaultCaller(connection)
        await caller.until("session.created")
        await caller.setup()
        yield caller


@asynccontextmanager
async def bystander(address: str) -> AsyncIterator[FaultCaller]:
    """A call that the fault does not touch: its turns go on all the while, and none of them fails."""
    async with calling(address) as caller:
        over = asyncio.Event()
        talking = asyncio.create_task(_talk(caller, over))
        yield caller
        over.set()
        await talking
        assert set(caller.seen) == {"completed"}, caller.seen


async def _talk(caller: FaultCaller, over: asyncio.Event) -> None:
    while not over.is_set():
        assert await caller.turn() == "completed"


async def health(address: str) -> dict[str, Any]:
    """Return the server's health report."""
    async with httpx.AsyncClient(trust_env=False, timeout=WITHIN_S) as http:
        return dict((await http.get(f"http://{address}/health")).json())


async def until_healthy(address: str, status: str = "ready") -> dict[str, Any]:
    """The server's health, once it is that."""
    async with asyncio.timeout(PATIENCE_S):
        while (told := await health(address))["status"] != status:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return told


async def counted(address: str, name: str) -> dict[str, float]:
    """The values of a metric with one label, by the label's; those that are 0 are left out."""
    async with httpx.AsyncClient(trust_env=False, timeout=WITHIN_S) as http:
        page = (await http.get(f"http://{address}/metrics")).text
    samples = [
        sample
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == name and sample.value
    ]
    return {next(iter(sample.labels.values()), ""): sample.value for sample in samples}


async def until_counted(address: str, name: str, values: dict[str, float]) -> None:
    """Wait until a metric has these values."""
    async with asyncio.timeout(PATIENCE_S):
        while await counted(address, name) != values:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
