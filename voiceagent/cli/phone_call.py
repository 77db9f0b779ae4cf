"""A call to a running server over Twilio's protocol: `voiceagent talk --over twilio`."""

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
from voiceagent.cli.remote_call import ANSWER_TIMEOUT_S, GREETING_S
from voiceagent.transports.local_call import FORMAT, Exchange
from voiceagent.validation.errors import CommandFailed, reason_of

QUIET_S = 2.0
"""Silence after which the agent counts as finished; a slower tool is not awaited."""
_TICK_S = 0.005
"""Maximum delay of a frame."""


class PhoneCaller:
    """The caller's end of the line; see `Talker` of the benches for its members.

    heard: the agent's audio in chunks, at the rate of the wire.
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
        """Time at which the next frame is due: when its last sample has been spoken."""
        return self._began_s + (self.sent + 1) * FRAME_S

    def frame(self, now_s: float) -> bytes:
        """Return the next 20 ms."""
        self.sent += 1
        return self.to_say.popleft() if self.to_say else self._silence

    def hear(self, now_s: float, sound: Samples | None, seconds: float = FRAME_S) -> None:
        """Add `seconds` of the agent's audio."""
        self.played_out_s = max(now_s, self.played_out_s) + seconds
        if sound is not None:
            self.heard.append(sound)

    def cleared(self, now_s: float) -> None:
        """Drop unplayed audio: the agent was interrupted."""
        self.played_out_s = min(self.played_out_s, now_s)

    def speech_stopped(self, at_s: float) -> None:
        """Do nothing: telephony does not report this."""

    def understood(self, text: str) -> None:
        """Do nothing: telephony does not report this."""


class PhoneCall:
    """A call to a phone line of a running server, opened by `phone_call`."""

    def __init__(self, wire: Wire, connection: WebSocketConnection, caller: PhoneCaller) -> None:
        self._wire = wire
        self._connection = connection
        self._caller = caller

    async def say(self, sound: Samples) -> Exchange:
        """Speak `sound` [n] at 24 kHz, then stay silent until the agent has answered or hung up.

        Raises CommandFailed.
        """
        caller, connection = self._caller, self._connection
        if connection.failure:
            return Exchange(failures=[f"not said: {connection.failure}"])
        caller.to_say.extend(frames_of(self._wire, sound))
        while caller.to_say and not connection.failure:
            await self._send_frames()
        caller.heard.clear()
        silent_from_s = time.monotonic()
        while not connection.failure and not (caller.heard and self._quiet):
            await self._send_frames()
            if not caller.heard and time.monotonic() > silent_from_s + ANSWER_TIMEOUT_S:
                raise CommandFailed(f"no answer came within {ANSWER_TIMEOUT_S:.0f} s")
        exchange = Exchange(frames=[resample(self._sound(), self._wire.format.rate_hz, FORMAT.rate_hz)])
        if connection.failure and not (caller.heard or connection.hung_up):
            exchange.failures.append(connection.failure)
        return exchange

    async def greeted(self) -> None:
        """Listen to the greeting, if there is one."""
        began_s = time.monotonic()
        while time.monotonic() < began_s + GREETING_S or (self._caller.heard and not self._quiet):
            await self._send_frames()

    @property
    def _quiet(self) -> bool:
        return time.monotonic() > self._caller.played_out_s + QUIET_S

    def _sound(self) -> Samples:
        return np.concatenate([np.zeros(0, np.int16), *self._caller.heard])

    async def _send_frames(self) -> None:
        self._connection.speak(time.monotonic())
        await asyncio.sleep(_TICK_S)


@asynccontextmanager
async def phone_call(url: str, agent: str) -> AsyncIterator[PhoneCall]:
    """Open a call to the server at `url`, such as "http://127.0.0.1:8080", and listen to the greeting.

    agent: appended to the URL, "" for the server's default. Raises CommandFailed.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise CommandFailed(f"--url {url!r}: allowed with --over twilio: http://<host>:<port>")
    wire = TwilioWire()
    wire.path = parts.path.rstrip("/") + wire.path + (f"/{quote(agent, safe='')}" if agent else "")
    try:
        connection = await connect_websocket(wire, (parts.hostname, parts.port or 80), time.monotonic)
    except OSError as error:
        raise CommandFailed(f"{url}: no server answers there: {reason_of(error)}") from error
    caller = PhoneCaller(frames_of(wire, np.zeros(1, np.int16))[0], time.monotonic())
    connection.caller = caller
    call = PhoneCall(wire, connection, caller)
    try:
        await call.greeted()
        yield call
    finally:
        connection.hang_up()
