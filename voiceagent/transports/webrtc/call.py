"""One WebRTC call: an RTCPeerConnection with a voice each way and the data channel `oai-events`."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import structlog
from aiortc import (
    RTCBundlePolicy,
    RTCConfiguration,
    RTCDataChannel,
    RTCPeerConnection,
    RTCRtpSender,
    RTCSctpTransport,
    RTCSessionDescription,
)
from aiortc.exceptions import OperationError
from aiortc.rtcsctptransport import Chunk
from aiortc.stats import RTCRemoteInboundRtpStreamStats

from audio.pcm import AudioFormat, Samples
from voiceagent.conversation.events import SettingsChanged
from voiceagent.session.call import Call
from voiceagent.transports.realtime.errors import RequestError
from voiceagent.transports.realtime.requests import Requests
from voiceagent.transports.webrtc import sdp
from voiceagent.transports.webrtc.aioice_internals import UdpSockets
from voiceagent.transports.webrtc.aiortc_internals import QuietTrack, SoundIn, SoundOut
from voiceagent.transports.webrtc.client import WebRtcClient
from voiceagent.transports.webrtc.media import CALLER_HZ, RTP_HZ, CallerAudio
from voiceagent.transports.webrtc.network import Network
from voiceagent.transports.webrtc.rtp import RtpPacket

log = structlog.get_logger()

CHANNEL = "oai-events"
CONNECT_S = 15.0
"""In which a caller who got an answer must be there."""
GOODBYE_S = 1.0
"""What is left to be said at the end of a call may take so long to leave."""
_OPUS = [codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType == "audio/opus"]
_REPORT_S = 2.0
"""How often the far end's reports of what it missed are looked at."""
_MAX_BUFFERED_BYTES = 65_536
"""Handed to the channel and not yet sent; the outbox keeps the rest, and knows when it is too much."""


class WebRtcCall:
    """One connection: `answer` once, then `run` until the call is over. `hang_up` ends it.

    sockets: where it is reached. session: fields of the session that the caller begins with.
    """

    def __init__(
        self,
        call: Call,
        client: WebRtcClient,
        network: Network,
        sockets: UdpSockets,
        session: dict[str, Any],
    ) -> None:
        self._call = call
        self._client = client
        self._network = network
        self._sockets = sockets
        self._session = session
        client.played = call.played
        formats = replace(call.settings, input_format=AudioFormat.PCM_16K, output_format=AudioFormat.PCM_24K)
        call.handle(SettingsChanged(formats))
        self._requests = Requests(call, client, sound_apart=True)
        self._peer = RTCPeerConnection(
            RTCConfiguration(iceServers=list(network.servers), bundlePolicy=RTCBundlePolicy.MAX_BUNDLE)
        )
        self._peer.on("connectionstatechange", self._watch_connection)
        self._peer.on("datachannel", self._take_channel)
        self._audio = CallerAudio(self._hear, time.monotonic)
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._connected = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    async def answer(self, offer: str) -> str:
        """The answer to a caller's offer, both SDP. Raises RequestError, and CallRefused where no port is
        free.
        """
        voice = self._peer.addTransceiver(QuietTrack(), direction="sendrecv")
        voice.setCodecPreferences(_OPUS)
        try:
            await self._peer.setRemoteDescription(
                RTCSessionDescription(sdp.without_hidden_candidates(offer), "offer")
            )
        except OperationError as error:
            raise _refused("the offer's audio has no Opus, which is needed") from error
        except Exception as error:  # aiortc raises whatever its parser came upon
            raise _refused(f"the offer cannot be read: {error}") from error
        if voice.mid is None:
            raise _refused("the offer has no audio, which is needed")
        if self._peer.sctp is not None:
            drop_unsendable(self._peer.sctp)
        self._sockets.bind(voice.receiver.transport.transport.iceGatherer._connection)
        await self._peer.setLocalDescription(await self._peer.createAnswer())
        SoundIn(voice, self._take)
        self._client.voice.send = SoundOut(voice).send
        answer = sdp.with_speech_settings(self._peer.localDescription.sdp, CALLER_HZ)
        if self._network.announced_address is not None:
            answer = sdp.with_announced_address(answer, self._network.announced_address)
        return answer

    async def run(self) -> None:
        """Carry the call to its end, and end it."""
        work = [
            asyncio.create_task(self._begin()),
            asyncio.create_task(self._end_with(self._call.ended(), "the call ended on the server")),
            asyncio.create_task(self._end_with(self._client.outbox.overflowed(), "the client does not read")),
        ]
        reason = "the connection was cut off"
        try:
            reason = await self._over
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            await self._close(reason)

    def hang_up(self, reason: str) -> None:
        """End the call; a second time does nothing."""
        if not self._over.done():
            self._over.set_result(reason)

    async def discard(self) -> None:
        """Close what `answer` could not bring up."""
        await self._close("the call was not answered")

    async def _begin(self) -> None:
        """Wait for the caller, begin, and look after the line."""
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._connected.wait()
        except TimeoutError:
            self.hang_up(f"the caller did not connect within {CONNECT_S:.0f} s")
            return
        self._requests.start(self._session)
        self._call.begin()
        while True:
            await asyncio.sleep(_REPORT_S)
            for sender in self._peer.getSenders():
                for stats in (await sender.getStats()).values():
                    if isinstance(stats, RTCRemoteInboundRtpStreamStats):
                        self._client.reported(
                            stats.roundTripTime, stats.jitter / RTP_HZ, stats.fractionLost / 256
                        )

    async def _end_with(self, moment: Any, reason: str) -> None:
        await moment
        self.hang_up(reason)

    def _watch_connection(self) -> None:
        state = self._peer.connectionState
        if state == "connected":
            self._connected.set()
        elif state in ("failed", "closed"):
            self.hang_up(f"the connection is {state}")

    def _take_channel(self, channel: RTCDataChannel) -> None:
        if channel.label != CHANNEL or self._sending is not None:
            log.info("channel_ignored", label=channel.label)
            return
        channel.on("message", self._requests.take)
        channel.on("close", lambda: self.hang_up("the client left"))
        self._sending = asyncio.create_task(self._send(channel))

    async def _send(self, channel: RTCDataChannel) -> None:
        """Send events; the task that `_take_channel` starts."""
        room = asyncio.Event()
        channel.bufferedAmountLowThreshold = _MAX_BUFFERED_BYTES // 2
        channel.on("bufferedamountlow", room.set)
        while True:
            text = await self._client.outbox.next()
            if channel.readyState != "open":
                return
            channel.send(text)
            if channel.bufferedAmount > _MAX_BUFFERED_BYTES:
                room.clear()
                await room.wait()

    def _take(self, packet: RtpPacket) -> None:
        try:
            self._audio.take(packet)
        except Exception:  # there is no task here for it to end
            log.exception("connection_failed")
            self.hang_up("the server failed")

    def _hear(self, samples: Samples) -> None:
        if self._connected.is_set():
            self._requests.hear(samples)

    async def _close(self, reason: str) -> None:
        try:
            await self._call.close(reason)
            self._audio.close()
            if self._sending is not None:
                await self._say_goodbye(self._sending)
        finally:
            await self._peer.close()

    async def _say_goodbye(self, sending: asyncio.Task[None]) -> None:
        """Let what is queued leave, as far as the line lets us."""
        if self._peer.connectionState == "connected":
            try:
                async with asyncio.timeout(GOODBYE_S):
                    while len(self._client.outbox) and not sending.done():  # noqa: ASYNC110  it has no event
                        await asyncio.sleep(0.02)
            except TimeoutError:
                log.info("closed_without_goodbye")
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


def _refused(message: str) -> RequestError:
    return RequestError("invalid_offer", message, "sdp")


def drop_unsendable(events: RTCSctpTransport) -> None:
    """Drop what is to be sent when the line is gone. aiortc raises there, in tasks that nobody awaits, and
    each of their tracebacks in the log holds up all calls.
    """
    send_chunk = events._send_chunk

    async def send(chunk: Chunk) -> None:
        with suppress(ConnectionError):
            await send_chunk(chunk)

    events._send_chunk = send  # type: ignore[method-assign]
