"""A server under attack, as users start it, and a second caller who must not notice."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from fixed_config import FIXED
from websockets.asyncio.client import ClientConnection, connect

from voiceagent.bench.server_process import stop

READY_S = 60.0
PATIENCE_S = 30.0
LINES = ("twilio", "telnyx", "plivo", "vonage", "asterisk")
"""Phone lines over WebSocket, each open to this machine without a key."""


def free_port() -> int:
    """Return a closed port of 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@dataclass
class AttackedServer:
    """address: "127.0.0.1:8080". audiosocket: that line's port."""

    address: str
    audiosocket: int
    process: asyncio.subprocess.Process
    log: Path

    @property
    def url(self) -> str:
        return f"ws://{self.address}/v1/realtime"

    def memory_mb(self) -> float:
        """Resident memory of the server and of the processes it started."""
        server = psutil.Process(self.process.pid)
        family = [server, *server.children(recursive=True)]
        return float(sum(process.memory_info().rss for process in family)) / 2**20

    def logged(self) -> str:
        return self.log.read_text(errors="replace")

    def call(self, path: str = "/v1/realtime") -> connect:
        """A WebSocket of a caller that reads all that it is sent."""
        return connect(f"ws://{self.address}{path}", compression=None, ping_interval=None, max_size=None)


_LIMITS = """
from voiceagent.llm import monitor
from voiceagent.transports.limits import TransportLimits

TransportLimits.max_request_s = TransportLimits.max_phone_idle_s = 2.0
monitor.LOAD_RATIO = 10_000.0  # no load is shed
"""


def write_attacked_config(folder: Path, audiosocket: int) -> Path:
    """Engines of fixed cost, all lines, times that a test can wait for; all other limits are as usual.

    A server that is late, or answers late, takes calls all the same: an attack is to be let in, not kept out
    by its own load, or by the machine's.
    """
    engines = (FIXED / "fixed_engines.py").read_text()
    (folder / "fixed_engines.py").write_text(engines + _LIMITS)
    text = (FIXED / "fixed.toml").read_text().replace("[telephony.twilio]", "")
    lines = "\n".join(f"[telephony.{name}]" for name in LINES)
    path = folder / "attacked.toml"
    path.write_text(
        "[server]\nmax_calls = 60\nmax_loop_lag_ms = 10_000\n"
        f"{text}\n{lines}\n[telephony.audiosocket]\nport = {audiosocket}\n"
    )
    return path


@asynccontextmanager
async def attacked_server(folder: Path, audiosocket: int) -> AsyncIterator[AttackedServer]:
    """A server that runs for the length of the block. audiosocket: a free port."""
    log = folder / "log.txt"
    command = [Path(sys.executable).with_name("voiceagent"), "serve", "--port", "0", "--config"]
    with log.open("wb") as writing:
        process = await asyncio.create_subprocess_exec(
            *command,
            write_attacked_config(folder, audiosocket),
            stdout=asyncio.subprocess.PIPE,
            stderr=writing,
        )
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), READY_S)).decode()
        found = re.search(r"http://([^\s/]+)", line)
        assert found, f"the server did not start: {log.read_text()[-2000:]}"
        yield AttackedServer(found[1], audiosocket, process, log)
        assert process.returncode is None, "the server has ended"
    finally:
        assert await stop(process, READY_S), "the server did not stop after SIGTERM"


QUESTION = {
    "type": "response.create",
    "response": {
        "conversation": "none",
        "output_modalities": ["text"],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello?"}]}],
    },
}


class SecondCaller:
    """Another caller, who asks and is answered again and again.

    call_id: as the server's log names the call. events: how many came with each answer.
    """

    def __init__(self, connection: ClientConnection, call_id: str) -> None:
        self._connection = connection
        self.call_id = call_id
        self._asked = self.stopped = False
        self._count = 0
        self.events: list[int] = []
        self.failed: list[Any] = []

    @classmethod
    async def on(cls, connection: ClientConnection) -> SecondCaller:
        """Return the caller of a connection whose session begins."""
        return cls(connection, json.loads(await connection.recv())["session"]["id"])

    async def ask(self) -> None:
        """One question, to the end of its answer."""
        self._asked, self._count = True, 0
        await self._connection.send(json.dumps(QUESTION))
        await self.until_answered()

    async def until_answered(self) -> None:
        """The rest of an answer, where one was asked for."""
        while self._asked:
            event = json.loads(await asyncio.wait_for(self._connection.recv(), PATIENCE_S))
            self._count += 1
            if event["type"] == "error" or event.get("response", {}).get("status") == "failed":
                self.failed.append(event)
            if event["type"] == "response.done":
                self._asked = False
                self.events.append(self._count)

    async def go_on(self) -> None:
        """Ask until told to stop, and wait for the last answer."""
        while not self.stopped:
            await self.ask()


@asynccontextmanager
async def second_caller(server: AttackedServer) -> AsyncIterator[SecondCaller]:
    """A caller who is answered before, during and after the block, each time by as many events."""
    async with server.call() as connection:
        caller = await SecondCaller.on(connection)
        await caller.ask()
        going_on = asyncio.create_task(caller.go_on())
        try:
            yield caller
            caller.stopped = True
            await going_on
            await caller.ask()
        finally:
            going_on.cancel()
            await asyncio.gather(going_on, return_exceptions=True)
        assert not caller.failed
        assert set(caller.events) == {caller.events[0]}
