"""CPU that a phone call costs the server, without sockets and without waiting: each run does the same work.

python tests/bench/phone_call_cost.py [CALLS] [SECONDS]

The server runs in this process with engines of fixed cost (tests/bench/fixed.toml). Callers of `bench calls`
talk to uvicorn's protocol objects through transports that are lists, and the clock is virtual: it jumps to
the next timer. The callers' own work is not counted. Calls to the kernel are missing: of a real server they
are a tenth.

Where other work shares the machine, a real server's time depends on it far more than this does. Compare two
builds in turn, several times, by the least figure.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: as in a server
_real_clock = time.monotonic
_virtual_s: list[float] = []  # the time of the virtual clock, once it runs
# before the server's modules, which keep the function
time.monotonic = lambda: _virtual_s[0] if _virtual_s else _real_clock()

import numpy as np  # noqa: E402

from voiceagent.bench.caller import Caller, Saying  # noqa: E402
from voiceagent.bench.calls import NOISE_RMS, find_questions, saying_of  # noqa: E402
from voiceagent.bench.material import Material, shuffled  # noqa: E402
from voiceagent.bench.tally import Tally  # noqa: E402
from voiceagent.bench.websocket_connection import WebSocketConnection  # noqa: E402
from voiceagent.bench.wires import TwilioWire, frames_of  # noqa: E402
from voiceagent.config.tables import load  # noqa: E402
from voiceagent.processes.rounds import rounds_of  # noqa: E402
from voiceagent.server.app import Server  # noqa: E402
from voiceagent.server.http import Http  # noqa: E402
from voiceagent.telemetry.log import configure_log  # noqa: E402
from voiceagent.transports.local_call import FORMAT  # noqa: E402

ROOT = Path(__file__).parents[2]
RAMP_S = 5.0
"""In which the calls begin; after `SETTLED_S` more they are measured."""
SETTLED_S = 2.0


class _VirtualTime:
    """A selector that never waits: the clock advances instead."""

    def __init__(self, real: selectors.BaseSelector) -> None:
        self._real = real

    def select(self, timeout: float | None = None) -> Any:
        ready = self._real.select(0.01 if timeout is None else 0)  # None: a thread is waited for
        if not ready and timeout:
            _virtual_s[0] += max(0.0, timeout)
        return ready

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Wire(asyncio.Transport):
    """A transport whose bytes wait in a list."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written: list[bytes] = []
        self.protocol: Any = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def take(self) -> bytes:
        """Return what was written since the last time."""
        written, self.written = self.written, []
        return b"".join(written)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def is_closing(self) -> bool:
        return False

    def close(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class _Calls:
    """Calls of one server. In each round of the process the callers hear and speak, then the server reads."""

    def __init__(self, http: Http, sayings: list[Saying], silence: tuple[bytes, ...]) -> None:
        self.tally = Tally()
        self.callers_s = 0.0
        """CPU seconds of the callers themselves."""
        self._http, self._sayings, self._silence = http, sayings, silence
        self._random = Random(1)
        self._wire = TwilioWire()
        self._calls: list[tuple[WebSocketConnection, _Wire, _Wire]] = []

    def begin(self) -> None:
        """Begin another call."""
        caller = WebSocketConnection(self._wire, "localhost", _now)
        from_caller, from_server = _Wire(), _Wire()
        from_server.protocol = self._http._protocol()
        from_server.protocol.connection_made(from_server)
        caller.connection_made(from_caller)
        self._calls.append((caller, from_caller, from_server))

    def round(self) -> None:
        """Carry what was said in 20 ms both ways."""
        began_s, read = time.process_time(), []
        for connection, from_caller, from_server in self._calls:
            if data := from_server.take():
                connection.data_received(data)
            if connection.opened.done() and connection.caller is None:
                for message in self._wire.greeting():
                    connection.send(message)
                sayings = shuffled(self._sayings, self._random)
                connection.caller = Caller(_now(), sayings, self._silence, 10**6, self._random, self.tally)
            connection.speak(_now())
            if data := from_caller.take():
                read.append((from_server.protocol, data))
        self.callers_s += time.process_time() - began_s
        for protocol, data in read:
            protocol.data_received(data)


async def measure(calls: int, seconds: float, sayings: list[Saying], silence: tuple[bytes, ...]) -> None:
    """Print the CPU seconds of the server for a minute of one call."""
    config = load(ROOT / "tests/bench/fixed.toml", {"server.max_calls": str(2 * calls)})
    server = Server(config)
    http = Http(server.app(), config.server.max_message_bytes, config.limits)
    http.config.load()
    async with server.taking_calls():
        ours, rounds = _Calls(http, sayings, silence), rounds_of(asyncio.get_running_loop())
        rounds.join(ours.round)
        for _ in range(calls):
            ours.begin()
            await asyncio.sleep(RAMP_S / calls)
        await asyncio.sleep(SETTLED_S)
        ours.tally.restart()
        began_s = time.process_time() - ours.callers_s
        await asyncio.sleep(seconds)
        server_s = time.process_time() - ours.callers_s - began_s
        rounds.leave(ours.round)
    tally = ours.tally
    cost = server_s / (calls * seconds / 60)
    turns = f"{tally.turns} turns, {tally.missed} missed, {len(tally.yielded)} interruptions"
    print(f"{cost:.4f} CPU seconds a call-minute; {turns}")
    sys.stdout.flush()
    os._exit(0)  # the calls are still up: their end would wait for callers who hear nothing any more


def _now() -> float:
    return _virtual_s[0]


def _in_virtual_time(main: Callable[[], Any]) -> None:
    _virtual_s.append(1e6)  # always the same, and later than what the real clock has told before
    loop: Any = asyncio.SelectorEventLoop(selectors.DefaultSelector())
    loop._selector = _VirtualTime(loop._selector)
    asyncio.set_event_loop(loop)
    loop.run_until_complete(main())


if __name__ == "__main__":
    arguments = [float(text) for text in sys.argv[1:]] + [100.0, 10.0][len(sys.argv) - 1 :]
    configure_log("console", "warning")
    demo = load(ROOT / "configs/demo.toml")
    questions = asyncio.run(find_questions((), demo, Material(ROOT / "voiceagent/demo/material")))
    wire = TwilioWire()
    noise = np.random.default_rng(1).normal(0, NOISE_RMS, FORMAT.rate_hz).astype(np.int16)
    said = [saying_of(wire, question) for question in questions]
    _in_virtual_time(lambda: measure(int(arguments[0]), arguments[1], said, frames_of(wire, noise)))
