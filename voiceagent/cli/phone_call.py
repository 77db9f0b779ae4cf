"""A call to a running server over its phone line, as Twilio makes one: `voiceagent talk --over twilio`."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote, urlsplit

import numpy as np

from audio.pcm import Samples
from audio.resample import resample
from voiceagent.bench.caller import FRAME_S
from voiceagent.bench.websocket_connection import WebSocketConnection, connect_websocket
from voiceagent.bench.wires import TwilioWire, Wire, frames_of
from voiceagent.cli.remote_call import GREETING_S, PATIENCE_S
from voiceagent.transports.local_call import FORMAT, Exchange
from voiceagent.validation.errors import CommandFailed

QUIET_S = 2.0
"""An agent that is silent for this long has finished, or its tool takes longer than is waited for."""
_ROUND_S = 0.005
"""How late frames may be sent."""


class PhoneCaller:
    """The caller at the other end of the line; each member is as a `Talker` of the benches has it.

    heard: the agent's sound, as pieces at the rate of the wire.
    """

    waits = True

    def __init__(self, silence: bytes, now_s: float) -> None:
        self.to_say: deque[bytes] = deque()
        self.heard: list[Samples] = []
        self.sent = 0
        self.played_out_s = now_s
        self._silence = silence
        self._began_s = now_s

    @property
    def due_s(self) -> float:
        """When the next frame is to be sent: when its last sample has been spoken."""
        return self._began_s + (self.sent + 1) * FRAME_S

    def frame(self, now_s: float) -> bytes:
        """The next 20 ms."""
        self.sent += 1
        return self.to_say.popleft() if self.to_say else self._silence

    def hear(self, now_s: float, sound: Samples | None, seconds: float = FRAME_S) -> None:
        """The agent's sound goes on for so many seconds."""
        self.played_out_s = max(now_s, self.played_out_s) + seconds
        if sound is not None:
            self.heard.append(sound)

    def cleared(self, now_s: float) -> None:
        """The agent stopped in mid-response: what is not played yet never will be."""
        self.played_out_s = min(self.played_out_s, now_s)

    def speech_stopped(self, at_s: float) -> None:
        """A phone line does not tell."""

    def understood(self, text: str) -> None:
        """Nor this."""


class PhoneCall:
    """One call. Made by `phone_call`."""

    def __init__(self, wire: Wire, connection: WebSocketConnection, caller: PhoneCaller) -> None:
        self._wire = wire
        self._connection = connection
        self._caller = caller

    async def say(self, sound: Samples) -> Exchange:
        """Speak `sound` [n] at 24 kHz, then be silent until the agent has answered, or has hung up. Raises
        CommandFailed.
        """
        caller, connection = self._caller, self._connection
        if connection.failure:
            return Exchange(failures=[f"not said: {connection.failure}"])
        caller.to_say.extend(frames_of(self._wire, sound))
        while caller.to_say and not connection.failure:
            await self._go_on()
        caller.heard.clear()
        silent_from_s = time.monotonic()
        while not connection.failure and not (caller.heard and self._quiet):
            await self._go_on()
            if not caller.heard and time.monotonic() > silent_from_s + PATIENCE_S:
                raise CommandFailed(f"no answer came within {PATIENCE_S:.0f} s")
        exchange = Exchange(frames=[resample(self._sound(), self._wire.format.rate_hz, FORMAT.rate_hz)])
        if connection.failure and not (caller.heard or connection.hung_up):
            exchange.failures.append(connection.failure)
        return exchange

    async def greeted(self) -> None:
        """Listen to the greeting, if there is one."""
        began_s = time.monotonic()
        while time.monotonic() < began_s + GREETING_S or (self._caller.heard and not self._quiet):
            await self._go_on()

    @property
    def _quiet(self) -> bool:
        return time.monotonic() > self._caller.played_out_s + QUIET_S

    def _sound(self) -> Samples:
        return np.concatenate([np.zeros(0, np.int16), *self._caller.heard])

    async def _go_on(self) -> None:
        self._connection.speak(time.monotonic())
        await asyncio.sleep(_ROUND_S)


@asynccontextmanager
async def phone_call(url: str, agent: str) -> AsyncIterator[PhoneCall]:
    """A call to the server at `url`, as "http://127.0.0.1:8080", whose greeting was heard out.

    agent: at the end of the line's URL, "" for the server's own. Raises CommandFailed.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise CommandFailed(f"--url {url!r}: allowed with --over twilio: http://<host>:<port>")
    wire = TwilioWire()
    wire.path = parts.path.rstrip("/") + wire.path + (f"/{quote(agent, safe='')}" if agent else "")
    try:
        connection = await connect_websocket(wire, (parts.hostname, parts.port or 80), time.monotonic)
    except OSError as error:
        raise CommandFailed(f"{url}: no server answers there: {error}") from error
    caller = PhoneCaller(frames_of(wire, np.zeros(1, np.int16))[0], time.monotonic())
    connection.caller = caller
    call = PhoneCall(wire, connection, caller)
    try:
        await call.greeted()
        yield call
    finally:
        connection.hang_up()
