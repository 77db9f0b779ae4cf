"""A caller over WebRTC that bypasses aiortc's queues, as the server does, to cost little."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from random import Random
from typing import Any

import httpx2
from aiortc import RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from audio.opus import OpusDecoder
from voiceagent.bench.caller import Talker
from voiceagent.bench.crowd import ServerBusy
from voiceagent.bench.wires import Cleared, Refused, SpeechStopped, Understood, WebRtcWire
from voiceagent.transports.limits import USUAL_LIMITS, Allowance
from voiceagent.transports.webrtc.aioice_internals import UdpSockets
from voiceagent.transports.webrtc.aiortc_internals import QuietTrack, SoundIn, SoundOut, ice_connection
from voiceagent.transports.webrtc.media import FRAME_TICKS
from voiceagent.transports.webrtc.rtp import RtpPacket
from voiceagent.validation.errors import CommandFailed

_RTP_VERSION = 2
_RTCP_TYPES = range(72, 77)  # RFC 5761, section 4: RTCP on the same port
CONNECT_S = 30.0
"""Timeout of connecting: longer than the server waits for its callers."""


@dataclass(frozen=True, slots=True)
class Line:
    """Network of the caller. loss: share of packets lost, 0 to 1. jitter_s: maximum delay of the others,
    which may reorder them.
    """

    loss: float = 0.0
    jitter_s: float = 0.0


PERFECT = Line()


class LossyTransport:
    """The caller's UDP transport, over which audio packets are lost or late as `Line` says; no others are."""

    def __init__(self, transport: Any, line: Line) -> None:
        self._transport = transport
        self._line = line
        self._random = Random(1)

    def sendto(self, data: bytes, address: tuple[str, int]) -> None:
        """Send a datagram, unless it is lost."""
        if data[0] >> 6 != _RTP_VERSION or data[1] & 0x7F in _RTCP_TYPES:
            self._transport.sendto(data, address)
        elif self._random.random() >= self._line.loss:
            late_s = self._random.uniform(0, self._line.jitter_s)
            asyncio.get_running_loop().call_later(late_s, self._transport.sendto, data, address)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class WebRtcConnection:
    """One call of one caller, who receives its audio at once."""

    def __init__(self, wire: WebRtcWire, clock: Callable[[], float], line: Line) -> None:
        self._line = line
        self.caller: Talker | None = None
        self.failure = ""
        self._wire = wire
        self._clock = clock
        self._decoder = OpusDecoder(wire.format.rate_hz)
        self._closing: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()
        self._peer = RTCPeerConnection(
            RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE)
        )
        self._voice = self._peer.addTransceiver(QuietTrack(), direction="sendrecv")
        self._channel = self._peer.createDataChannel("oai-events")
        self._channel.on("message", self._on_message)
        self._channel.on("close", self._closed)

    async def open(self, address: tuple[str, int]) -> None:
        """Open the call. Raises CommandFailed."""
        sockets = UdpSockets((0, 0))  # its own: the server would take two calls from one port for one
        sockets.bind(ice_connection(self._voice))
        await self._peer.setLocalDescription(await self._peer.createOffer())
        url = f"http://{address[0]}:{address[1]}/v1/realtime/calls"
        async with httpx2.AsyncClient(trust_env=False, timeout=CONNECT_S) as http:
            offer = self._peer.localDescription.sdp
            answer = await http.post(url, content=offer, headers={"content-type": "application/sdp"})
        if answer.status_code != 201:
            refused = ServerBusy if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE else CommandFailed
            raise refused(f"the server refused a call: {answer.status_code}: {answer.text}")
        await self._peer.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
        SoundIn(self._voice, self._hear, 1, Allowance(USUAL_LIMITS.max_bytes_per_s, time.monotonic()))
        self._send = SoundOut(self._voice).send
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._begun.wait()
        except TimeoutError:
            raise CommandFailed(f"a call was not up after {CONNECT_S:.0f} s") from None
        if self._line != PERFECT:
            protocol: Any = self._voice.receiver.transport.transport._connection._nominated[1].protocol
            protocol.transport = LossyTransport(protocol.transport, self._line)

    def speak(self, now_s: float) -> None:
        """Send what the caller has spoken by now."""
        caller = self.caller
        while caller is not None and caller.due_s <= now_s:
            timestamp = caller.sent * FRAME_TICKS
            self._send(caller.frame(now_s), timestamp, not timestamp)

    def hang_up(self) -> None:
        """Close the call normally."""
        self.caller = None
        self._closing = asyncio.create_task(self._peer.close(), name="hang up")

    def _hear(self, packet: RtpPacket) -> None:
        if self.caller is not None:
            sound = self._decoder.decode(packet.payload) if self.caller.waits else None
            self.caller.hear(self._clock(), sound)

    def _on_message(self, text: str) -> None:
        self._begun.set()  # the server speaks first
        if self.caller is None:
            return
        match self._wire.notification(text.encode()):
            case SpeechStopped(at_s):
                self.caller.speech_stopped(at_s)
            case Cleared():
                self.caller.cleared(self._clock())
            case Understood(text):
                self.caller.understood(text)
            case Refused(reason):
                self.failure = reason
            case _:
                pass

    def _closed(self) -> None:
        self.failure = self.failure or "the server closed the call"


async def connect_webrtc(
    wire: WebRtcWire, address: tuple[str, int], clock: Callable[[], float], line: Line = PERFECT
) -> WebRtcConnection:
    """Open a call. address: host and port. Raises CommandFailed if it is refused."""
    connection = WebRtcConnection(wire, clock, line)
    await connection.open(address)
    return connection
