"""Audio of a WebRTC call, both ways: Opus in RTP packets on the wire, samples in the session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from audio.jitter import Gap, JitterBuffer, MediaPacket
from audio.opus import OpusDecoder, OpusEncoder, OpusError, packet_samples
from audio.pcm import Samples
from voiceagent.transports.webrtc.rtp import Remote, RtpPacket
from voiceagent.transports.webrtc.telephone_events import EVENT_FRAMES, EventFormat, event_packets

log = structlog.get_logger()

RTP_HZ = 48_000
"""Opus timestamps always use this rate (RFC 7587, section 4.1)."""
CALLER_HZ = 16_000
"""Decoding rate of the caller's audio: that of VAD and recognizers, so no resampling is needed."""
FRAME_TICKS = RTP_HZ // 50
"""Timestamp units per 20 ms frame."""
_STEP = CALLER_HZ // 400
"""Samples per concealment step, 2.5 ms."""


class AgentVoice:
    """Opus encoder and packet timing of the agent's audio. Silence is neither encoded nor sent.

    send: receives the payload of each packet, its timestamp, and True for the first after a silence; set when
    the call is connected. send_as: the same for packets of another payload type, its first argument.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.send: Callable[[bytes, int, bool], None] = lambda payload, timestamp, first: None
        self._clock = clock
        self._began_s = clock()
        self.send_as: Callable[[int, bytes, int, bool], None] = lambda kind, payload, timestamp, first: None
        self._encoder = OpusEncoder()
        self._next_timestamp = 0

    def play(self, frame: Samples) -> None:
        """Send 20 ms at 24 kHz [480]."""
        timestamp = self._timestamp()
        # a gap in the timestamps is a silence: the marker lets the remote restart its playout
        first = timestamp != self._next_timestamp or not timestamp
        self._next_timestamp = timestamp + FRAME_TICKS
        self.send(self._encoder.encode(frame), timestamp, first)

    async def send_event(self, key: str, events: EventFormat) -> None:
        """Send a key as a telephone event, in real time."""
        timestamp, begun_s = self._timestamp(), self._clock()
        for packet in event_packets(key, events.rate_hz // 50):
            await asyncio.sleep(max(0.0, begun_s + packet.frame / 50 - self._clock()))
            self.send_as(events.payload_type, packet.payload, timestamp, packet.first)
        self._next_timestamp = timestamp + EVENT_FRAMES * FRAME_TICKS

    def expect_loss(self, fraction: float) -> None:
        """Set the expected packet loss at the remote, 0-1."""
        self._encoder.expect_loss(fraction)

    def _timestamp(self) -> int:
        """Return the timestamp of the next packet. After a silence it advances by whole frames: otherwise the
        remote would treat packets as late and delay its playout more and more.
        """
        now = round((self._clock() - self._began_s) * RTP_HZ)
        silent = max(0, now - self._next_timestamp)
        return self._next_timestamp + -(-silent // FRAME_TICKS) * FRAME_TICKS


class CallerAudio:
    """Jitter buffer and decoder of the caller's audio: packets in, samples in order out, at `CALLER_HZ`.
    hear_gap: receives filler for lost packets; `hear` by default.

    Replaces aiortc's. Its jitter buffer stalls for 280 ms at a lost packet and keeps the delay; its decoder
    has one rate and cannot conceal a gap.
    """

    def __init__(
        self,
        hear: Callable[[Samples], None],
        clock: Callable[[], float],
        hear_gap: Callable[[Samples], None] | None = None,
    ) -> None:
        self._hear, self._hear_gap = hear, hear_gap or hear
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._jitter = JitterBuffer(RTP_HZ)
        self._decoder = OpusDecoder(CALLER_HZ)
        self._timer: asyncio.TimerHandle | None = None

    def add(self, packet: RtpPacket) -> None:
        try:
            samples = packet_samples(packet.payload, RTP_HZ)
        except OpusError:
            return  # invalid Opus: treated as lost
        media = MediaPacket(packet.sequence_number, packet.timestamp, packet.payload, samples)
        self._decode(self._jitter.push(media, self._clock()))

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._decode(self._jitter.due(self._clock()))

    def _decode(self, ready: list[MediaPacket | Gap]) -> None:
        for piece in ready:
            try:
                sound = sound_of(piece, self._decoder)
                if isinstance(piece, Gap):
                    self._hear_gap(sound)
                else:
                    self._hear(sound)
            except OpusError as error:
                log.debug("packet_undecodable", reason=str(error))
        self._schedule()

    def _schedule(self) -> None:
        if self._timer is not None:
            self.close()
        due_s = self._jitter.next_due_s()
        if due_s is not None:
            self._timer = self._loop.call_later(max(0.0, due_s - self._clock()), self._due)


def sound_of(piece: MediaPacket | Gap, decoder: OpusDecoder) -> Samples:
    """Decode a packet, or conceal a gap, to samples [n] at `CALLER_HZ`. Raise OpusError."""
    if isinstance(piece, MediaPacket):
        return decoder.decode(piece.payload)
    samples = piece.samples * CALLER_HZ // RTP_HZ
    return decoder.conceal(max(samples // _STEP, 1) * _STEP, piece.next_payload)


_FRAME_S = 0.02


class AudioOutput:
    """Output of one call.

    played: called once a response with the seconds of it that have been played; set as soon as the call
    exists.
    """

    def __init__(self) -> None:
        self.played: Callable[[str, float], None] = lambda response_id, played_s: None
        self.remote = Remote()
        self.voice = AgentVoice(time.monotonic)
        self._playing: str | None = None

    def is_playing(self, response_id: str) -> bool:
        """Return True if audio of this response was sent last, and was not stopped."""
        return response_id == self._playing

    def play(self, response_id: str, frame: Samples) -> None:
        """Send 20 ms of a response, or of none (""), int16 mono at 24 kHz."""
        if response_id and response_id != self._playing:
            self._playing = response_id
            after_s = self.remote.delay_s + _FRAME_S
            # browsers do not report playout: estimate it from RTCP's delay
            asyncio.get_running_loop().call_later(after_s, self._first_played, response_id)
        self.voice.play(frame)

    def stop(self) -> str | None:
        """End the response in progress, at its end or before. Return its id, None if there is none."""
        playing, self._playing = self._playing, None
        return playing

    def reported(self, round_trip_s: float | None, jitter_s: float, lost: float) -> None:
        """Handle an RTCP report on our audio: round trip and jitter in seconds, loss as a fraction."""
        self.remote.reported(round_trip_s, jitter_s, lost)
        self.voice.expect_loss(lost)

    def _first_played(self, response_id: str) -> None:
        if response_id == self._playing:
            self.played(response_id, _FRAME_S)
