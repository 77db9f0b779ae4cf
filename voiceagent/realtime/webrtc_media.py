"""The sound of a WebRTC call, both ways: Opus in RTP packets on aiortc's side, samples on the call's."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import structlog
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from aiortc.rtp import RtpPacket
from av.packet import Packet

from audio.jitter import Gap, JitterBuffer, MediaPacket
from audio.opus import RATE_HZ, OpusDecoder, OpusEncoder, OpusError, packet_samples
from audio.pcm import Samples

log = structlog.get_logger()

RTP_HZ = 48_000
"""Opus counts time so, whatever it carries (RFC 7587, section 4.1)."""
_FRAME = RTP_HZ // 50
_TIME_BASE = Fraction(1, RTP_HZ)
_MOST_QUEUED = 50
"""Packets, of a second, that wait for the line at most; the oldest go."""
_STEP = RATE_HZ // 400
"""Sound is concealed in steps of 2.5 ms."""


class AgentTrack(MediaStreamTrack):
    """The agent's voice as the far end is sent it. Where the agent is silent, nothing is encoded or sent."""

    kind = "audio"

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._began_s = clock()
        self._encoder = OpusEncoder()
        self._next_timestamp = 0
        self._queue: deque[Packet[Any]] = deque(maxlen=_MOST_QUEUED)
        self._filled = asyncio.Event()

    def play(self, frame: Samples) -> None:
        """Send 20 ms at 24 kHz [480], behind what was sent before."""
        packet = Packet(self._encoder.encode(frame))
        packet.pts = self._next_timestamp = self._timestamp()
        packet.time_base = _TIME_BASE
        self._next_timestamp += _FRAME
        self._queue.append(packet)
        self._filled.set()

    def drop(self) -> None:
        """Take back what has not been sent."""
        self._queue.clear()

    def expect_loss(self, fraction: float) -> None:
        """Say what share of the packets the far end misses, 0-1."""
        self._encoder.expect_loss(fraction)

    async def recv(self) -> Packet[Any]:
        """The next packet, once there is one: for aiortc's sender."""
        while not self._queue:
            if self.readyState != "live":
                raise MediaStreamError
            self._filled.clear()
            await self._filled.wait()
        return self._queue.popleft()

    def stop(self) -> None:
        """Nothing more will be sent."""
        super().stop()
        self._queue.clear()
        self._filled.set()

    def _timestamp(self) -> int:
        """Of the next packet. Behind a silence it jumps on by whole frames: without that, the far end would
        take what comes for late, and play later and later.
        """
        now = round((self._clock() - self._began_s) * RTP_HZ)
        silent = max(0, now - self._next_timestamp)
        return self._next_timestamp + -(-silent // _FRAME) * _FRAME


class CallerAudio:
    """The caller's sound: from packets as they come to samples in order.

    It stands in for aiortc's jitter buffer (`add` is all that is asked of that), which stalls for 280 ms at
    a lost packet and keeps that delay; aiortc's own decoder then has nothing to do.
    """

    def __init__(self, hear: Callable[[Samples], None], clock: Callable[[], float]) -> None:
        self._hear = hear
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._jitter = JitterBuffer(RTP_HZ)
        self._decoder = OpusDecoder()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, packet: RtpPacket) -> tuple[bool, None]:
        """Take a packet from aiortc, and give it nothing to decode."""
        if packet.payload:
            self._take(packet)
        return False, None

    def close(self) -> None:
        """Wait for nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _take(self, packet: RtpPacket) -> None:
        try:
            samples = packet_samples(packet.payload, RTP_HZ)
        except OpusError:
            return  # no Opus at all: as good as lost
        media = MediaPacket(packet.sequence_number, packet.timestamp, packet.payload, samples)
        self._decode(self._jitter.push(media, self._clock()))

    def _due(self) -> None:
        self._timer = None
        self._decode(self._jitter.due(self._clock()))

    def _decode(self, ready: list[MediaPacket | Gap]) -> None:
        for piece in ready:
            try:
                self._hear(self._sound(piece))
            except OpusError as error:
                log.debug("packet_not_decoded", reason=str(error))
        self._schedule()

    def _sound(self, piece: MediaPacket | Gap) -> Samples:
        if isinstance(piece, MediaPacket):
            return self._decoder.decode(piece.payload)
        samples = piece.samples * RATE_HZ // RTP_HZ
        return self._decoder.conceal(max(samples // _STEP, 1) * _STEP, piece.next_payload)

    def _schedule(self) -> None:
        self.close()
        due_s = self._jitter.next_due_s()
        if due_s is not None:
            self._timer = self._loop.call_later(max(0.0, due_s - self._clock()), self._due)
