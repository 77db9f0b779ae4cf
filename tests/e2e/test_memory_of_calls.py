"""Memory of a call is freed when it ends, without the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from fixed_config import write_config
from phone_caller import calling as phoning
from phone_lines import Twilio
from rtc_caller import rtc_calling
from websockets.asyncio.client import connect

from audio.detection.front_end_stream import FrontEndStream
from voiceagent.config.tables import load
from voiceagent.conversation.machine import Conversation
from voiceagent.server.app import Server
from voiceagent.session.executor import CommandExecutor
from voiceagent.session.listening import Listener
from voiceagent.session.session import Session
from voiceagent.transports.connection import Connection

KINDS = (Session, Connection, Conversation, CommandExecutor, Listener, FrontEndStream)


@asynccontextmanager
async def in_this_process(folder: Path) -> AsyncIterator[str]:
    """A server here, whose objects can be counted; its address."""
    announced: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(Server(load(write_config(folder))).run(announced.set_result))
    await asyncio.wait({serving, announced}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield (await announced).partition(" on http://")[2].partition(" ")[0]
    finally:
        serving.cancel()
        await asyncio.wait([serving])


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with in_this_process(tmp_path) as address:
        gc.collect()
        gc.disable()
        try:
            yield address
        finally:
            gc.enable()


async def held(address: str) -> Counter[str]:
    """Return the remaining objects of calls once no call is left, by kind."""
    async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http, asyncio.timeout(20):
        while (await http.get("/health")).json()["calls"]:  # noqa: ASYNC110  no event of this process
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.1)  # what the last task of a call held goes with its last step
    return Counter(type(thing).__name__ for thing in gc.get_objects() if type(thing) in KINDS)


@pytest.mark.parametrize("leaves", ["closes", "aborts"])
async def test_a_call_over_a_websocket_leaves_nothing(address: str, leaves: str) -> None:
    async with connect(f"ws://{address}/v1/realtime?model=x", proxy=None) as call:
        await call.send('{"type": "response.create"}')
        async for message in call:
            if json.loads(message)["type"] == "response.output_audio.delta":
                break
        if leaves == "aborts":
            call.transport.abort()
    assert await held(address) == {}


async def test_a_call_over_webrtc_leaves_nothing(address: str) -> None:
    async with rtc_calling(address) as caller:
        caller.send(type="response.create")
        await caller.until_sound(0.2)
    assert await held(address) == {}


async def test_a_phone_call_leaves_nothing(address: str) -> None:
    async with phoning(Twilio(), f"ws://{address}/telephony/twilio") as caller:
        await caller.speak(np.zeros(4_000, np.int16))
    assert await held(address) == {}
