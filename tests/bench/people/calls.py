"""Recordings in real-time calls to a server in a process of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import uvloop

from audio.pcm import Samples
from people.material import Clip
from people.offline import Done
from people.outcome import AgentSound, Outcome
from voiceagent.bench.caller import AUDIBLE, FRAME_S
from voiceagent.bench.calls import Protocol, wire_of
from voiceagent.bench.crowd import Connection
from voiceagent.bench.server_process import ServerProcess, serve_command, served
from voiceagent.bench.webrtc_connection import PERFECT, Line, connect_webrtc
from voiceagent.bench.websocket_connection import connect_websocket
from voiceagent.bench.wires import TwilioWire, WebRtcWire, Wire, frames_of
from voiceagent.config.tables import Config
from voiceagent.transports.local_call import FORMAT

LEAD_FRAMES = 25
"""Half a second of silence before the recording."""
GAP_S = 0.7
"""Maximum gap between two sentences of a response."""
LISTENS_S = 1.0
"""Length of the answer to hear before hanging up."""
PATIENCE_S = 5.0
"""Maximum wait for an answer after the recording."""
ROUND_S = 0.005
"""Maximum delay of a frame."""
STAGGER_S = 0.37
"""Seconds between the starts of two calls."""


class Speaker:
    """A simulated caller who speaks one recording of a person. frames: the recording as sent, 20 ms each.
    silence: a frame of silence. began_s: when the first sample is spoken. tells: the server reports decisions
    and transcripts.
    """

    def __init__(
        self,
        clip: Clip,
        frames: Sequence[bytes],
        silence: bytes,
        began_s: float,
        clock: Callable[[], float],
        tells: bool,
    ) -> None:
        self._clip = clip
        self._frames = [silence] * LEAD_FRAMES + list(frames)
        self._silence = silence
        self._begins_s = began_s + LEAD_FRAMES * FRAME_S
        self._clock = clock
        self._tells = tells
        self.sent = 0
        self.played_out_s = began_s
        self._sounds: list[tuple[float, float]] = []  # start and end of each
        self._decided_s: list[float] = []
        self._texts: list[str] = []

    waits = True
    """The whole of the agent's audio must be decoded."""

    @property
    def due_s(self) -> float:
        """Time at which the next frame is due: when its last sample has been spoken."""
        return self._begins_s + (self.sent + 1 - LEAD_FRAMES) * FRAME_S

    @property
    def finished(self) -> bool:
        """True if the recording was spoken and an answer was heard, or none came."""
        now_s, said_s = self._clock(), self._begins_s + len(self._clip.sound) / FORMAT.rate_hz
        voice_end_s = self._begins_s + self._clip.voice_end_s
        answered = any(
            min(now_s, end_s) - max(begin_s, voice_end_s) >= LISTENS_S for begin_s, end_s in self._sounds
        )
        return now_s > said_s and (answered or now_s > said_s + PATIENCE_S)

    def frame(self, now_s: float) -> bytes:
        """Return the next 20 ms."""
        self.sent += 1
        return self._frames[self.sent - 1] if self.sent <= len(self._frames) else self._silence

    def hear(self, now_s: float, sound: Samples | None, seconds: float = FRAME_S) -> None:
        """Receive `seconds` of the agent's audio."""
        begins_s = max(now_s, self.played_out_s)
        self.played_out_s = begins_s + seconds
        if sound is None:
            return
        audible = np.flatnonzero(np.abs(sound.astype(np.int32)) >= AUDIBLE)
        if not len(audible):
            return
        first_s = begins_s + float(audible[0]) / len(sound) * seconds
        if self._sounds and first_s - self._sounds[-1][1] < GAP_S:
            self._sounds[-1] = (self._sounds[-1][0], self.played_out_s)
        else:
            self._sounds.append((first_s, self.played_out_s))

    def cleared(self, now_s: float) -> None:
        """Drop unplayed audio: the agent was interrupted."""
        self.played_out_s = min(self.played_out_s, now_s)
        if self._sounds:
            begin_s, end_s = self._sounds.pop()
            if begin_s < now_s:
                self._sounds.append((begin_s, min(end_s, now_s)))

    def speech_stopped(self, at_s: float) -> None:
        """Record that the server has just ended the turn."""
        self._decided_s.append(self._clock() - self._begins_s)

    def understood(self, text: str) -> None:
        """Record the transcript of a turn."""
        self._texts.append(text)

    def outcome(self, failure: str) -> Outcome:
        """Return the outcome. failure: why the call broke off, or ""."""
        return Outcome(
            self._clip,
            tuple(self._decided_s) if self._tells else None,
            tuple(AgentSound(begin_s - self._begins_s, end_s - begin_s) for begin_s, end_s in self._sounds),
            tuple(self._texts) if self._tells else None,
            (failure,) if failure else (),
        )


@dataclass(frozen=True, slots=True)
class Calls:
    """Parameters of the calls. over: protocol. at_once: concurrent calls. line: losses of WebRTC packets."""

    over: Protocol
    at_once: int = 2
    line: Line = PERFECT


def run_calls(
    config: Config, calls: Calls, server: Sequence[str], clips: Sequence[Clip], done: Done
) -> list[Outcome]:
    """Call with each recording and return the outcomes. server: command of another server than ours.

    Raises CommandFailed.
    """
    return uvloop.run(_run(config, calls, server, clips, done))


async def _run(
    config: Config, calls: Calls, server: Sequence[str], clips: Sequence[Clip], done: Done
) -> list[Outcome]:
    wire = wire_of(config, calls.over, calls.line.loss)
    command = server or serve_command(config.source, calls.at_once, workers=1)
    async with served(command, None) as process:
        waiting = list(enumerate(clips))[::-1]
        outcomes: dict[int, Outcome] = {}

        async def one_after_the_other(begin_s: float) -> None:
            await asyncio.sleep(begin_s)
            while waiting:
                index, clip = waiting.pop()
                outcomes[index] = await _call(process, wire, calls, clip)
                done(clip)

        await asyncio.gather(*(one_after_the_other(STAGGER_S * index) for index in range(calls.at_once)))
    return [outcomes[index] for index in range(len(clips))]


async def _call(server: ServerProcess, wire: Wire, calls: Calls, clip: Clip) -> Outcome:
    clock = time.monotonic
    address = (server.host, server.port)
    connect: Callable[[], Awaitable[Connection]] = partial(connect_websocket, wire, address, clock)
    if isinstance(wire, WebRtcWire):
        connect = partial(connect_webrtc, wire, address, clock, calls.line)
    frames = frames_of(wire, clip.sound)
    silence = frames_of(wire, np.zeros(1, np.int16))[0]
    connection = await connect()
    speaker = Speaker(clip, frames, silence, clock(), clock, tells=not isinstance(wire, TwilioWire))
    connection.caller = speaker
    try:
        while not speaker.finished and not connection.failure:
            await asyncio.sleep(ROUND_S)
            connection.speak(clock())
    finally:
        connection.hang_up()
    return speaker.outcome(connection.failure)
