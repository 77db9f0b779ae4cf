"""One WebRTC call: an RTCPeerConnection with audio each way and the data channel `oai-events`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Never, Protocol

import numpy as np
from aiortc import (
    RTCBundlePolicy,
    RTCConfiguration,
    RTCPeerConnection,
    RTCRtpSender,
    RTCRtpTransceiver,
    RTCSessionDescription,
)
from aiortc.exceptions import OperationError
from aiortc.stats import RTCRemoteInboundRtpStreamStats

from audio.dtmf import GAP_S, PAUSE, PAUSE_S, tones
from audio.pcm import AudioFormat, Samples
from voiceagent.conversation.events import SettingsChanged
from voiceagent.session.agent import OutboundDetails, ToolFailed, check_keys
from voiceagent.session.call import Call, CallRefused
from voiceagent.session.references import weak_callback
from voiceagent.transports.connection import Connection, Ending, Handler
from voiceagent.transports.limits import Allowance, TransportLimits
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.webrtc import sdp
from voiceagent.transports.webrtc.aioice_internals import UdpSockets
from voiceagent.transports.webrtc.aiortc_internals import (
    QuietTrack,
    SoundIn,
    SoundOut,
    carry_all,
    close_peer,
    drop_unreadable,
    ice_connection,
)
from voiceagent.transports.webrtc.aiortc_sctp_internals import LimitedEvents, drop_unsendable
from voiceagent.transports.webrtc.media import CALLER_HZ, RTP_HZ, AgentVoice, AudioOutput, CallerAudio
from voiceagent.transports.webrtc.network import Network
from voiceagent.transports.webrtc.rtp import RtpPacket
from voiceagent.transports.webrtc.telephone_events import EventFormat, EventReceiver
from voiceagent.transports.webrtc.wire import DataChannelWire

AGENT_HZ = 24_000
"""Rate of the agent's audio."""
FRAME_S = 0.02
FRAME = round(AGENT_HZ * FRAME_S)


class WebRtcLine:
    """Line of one call: a `Line`. events: telephone events, None if the caller did not offer them."""

    outbound: OutboundDetails | None = None

    def __init__(self, voice: AgentVoice) -> None:
        self.events: EventFormat | None = None
        self._voice = voice
        self._sending = asyncio.Lock()

    async def transfer(self, destination: str = "", number: str = "", brief: str = "") -> None:
        """Raise ToolFailed: a browser's call cannot be transferred."""
        raise ToolFailed("this call cannot be transferred: it comes over no phone line")

    async def send_digits(self, digits: str) -> None:
        """Send keys; see `Line`. Raise ToolFailed."""
        check_keys(digits)
        async with self._sending:
            for key in digits:
                if self.events is None:
                    await self._send_tone(key)
                elif key == PAUSE:
                    await asyncio.sleep(PAUSE_S)
                else:
                    await self._voice.send_event(key, self.events)
                    await asyncio.sleep(GAP_S)

    async def _send_tone(self, key: str) -> None:
        loop = asyncio.get_running_loop()
        samples, due_s = tones(key, AGENT_HZ), loop.time()
        samples = np.pad(samples, (0, -len(samples) % FRAME))
        for begin in range(0, len(samples), FRAME):
            self._voice.play(samples[begin : begin + FRAME])
            due_s += FRAME_S
            await asyncio.sleep(max(0.0, due_s - loop.time()))


_OPUS = [codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType == "audio/opus"]
_REPORT_S = 2.0
"""Interval of reading the caller's RTCP reports, for loss and delay."""


class MediaHandler(Handler, Protocol):
    """Handler of a protocol whose audio is not in its events."""

    def hear(self, samples: Samples, filler: bool = False) -> None:
        """Push the caller's audio; see `ControlledCall.hear`. Handles overflow."""


class WebRtcCall:
    """One call: `answer` once, then `run` until its end. `end` ends it.

    output, outbox: of its client. sockets: its UDP sockets. limits: of the call.
    """

    def __init__(
        self,
        call: Call,
        output: AudioOutput,
        outbox: Outbox[str],
        network: Network,
        sockets: UdpSockets,
        limits: TransportLimits,
    ) -> None:
        self._call = call
        self._output = output
        self._network = network
        self._sockets = sockets
        self._limits = limits
        output.played = weak_callback(call.played)
        formats = replace(call.settings, input_format=AudioFormat.PCM_16K, output_format=AudioFormat.PCM_24K)
        call.handle(SettingsChanged(formats))
        self._peer = RTCPeerConnection(
            RTCConfiguration(iceServers=list(network.servers), bundlePolicy=RTCBundlePolicy.MAX_BUNDLE)
        )
        self._wire = DataChannelWire(self._peer)
        self._connection = Connection(self._wire, outbox, call, limits=limits)
        self._handler: MediaHandler | None = None
        self._line = WebRtcLine(output.voice)
        self._events, self._keys = EventReceiver(), 0
        call.use_line(self._line)
        self._audio = CallerAudio(weak_callback(self._hear), time.monotonic, weak_callback(self._hear_gap))

    async def answer(self, offer: str, caller: str) -> str:
        """Return the SDP answer to a caller's SDP offer. caller: IP address of the request.

        Raise RequestError, and CallRefused if no port is free.
        """
        try:
            sdp.check_offer(offer, self._limits)
        except sdp.OfferTooLarge as error:
            raise RequestError("limit_exceeded", str(error), "sdp") from error
        if not offer.lstrip().startswith("v="):
            raise _refused("the offer is no SDP, which begins with v=0")
        if not sdp.has_bundle_transport(offer):
            raise _refused("the offer's BUNDLE group names a media section that is not there")
        if not sdp.has_fingerprints(offer):
            raise _refused("the offer has no fingerprint of the caller's certificate, which is needed")
        # the server sends to the offer's addresses: they must not make it probe internal networks
        offer = sdp.with_callable_candidates(offer, lambda host: self._network.may_call(host, caller))
        # before the offer is read: aiortc would add a receive-only transceiver
        voice = self._peer.addTransceiver(QuietTrack(), direction="sendrecv")
        voice.setCodecPreferences(_OPUS)
        carry_all(voice)
        try:
            await self._peer.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        except OperationError as error:
            raise _refused("the offer's audio has no Opus, which is needed") from error
        except Exception as error:  # aiortc's parser may raise anything
            raise _refused("the offer cannot be read as SDP") from error
        if voice.mid is None:
            raise _refused("the offer has no audio, which is needed")
        try:
            return await self._agree(voice, sdp.events_of(offer))
        except CallRefused:
            raise
        except Exception as error:  # errors in the offer that aiortc finds only now
            raise _refused("the offer cannot be answered") from error

    async def _agree(self, voice: RTCRtpTransceiver, events: EventFormat | None) -> str:
        """Return the answer to the offer; `voice` has its transport. events: telephone events in it."""
        # separate from the budget of events: this one is for the packets that carry them, and for audio
        allowance = Allowance(self._limits.max_bytes_per_s, time.monotonic())
        if self._peer.sctp is not None:
            drop_unsendable(self._peer.sctp)
            give_up = weak_callback(self._give_up)
            LimitedEvents(self._peer.sctp, self._limits.max_channels, allowance, give_up)
        drop_unreadable(voice)
        # before candidates are gathered: they must use the shared port
        self._sockets.bind(ice_connection(voice))
        await self._peer.setLocalDescription(await self._peer.createAnswer())
        event_types = frozenset(() if events is None else (events.payload_type,))
        SoundIn(voice, weak_callback(self._on_packet), self._limits.max_streams, allowance, event_types)
        out = SoundOut(voice)
        self._output.voice.send, self._output.voice.send_as = out.send, out.send_as
        answer = self._peer.localDescription.sdp
        if events is not None:
            self._line.events = events
            answer = sdp.with_telephone_events(answer, events)
        answer = sdp.with_speech_settings(answer, CALLER_HZ)
        if self._network.announced_address is not None:
            answer = sdp.with_announced_address(answer, self._network.announced_address)
        return answer

    async def run(self, handler: MediaHandler) -> None:
        """Run the call to its end, and end it."""
        self._handler = handler
        try:
            await self._connection.run(handler, self._follow_reports())
        finally:
            self._handler = None
            await self._stop()

    def end(self, ending: Ending) -> None:
        """End the call. Only the first ending counts."""
        self._connection.end(ending)

    async def discard(self) -> None:
        """Release a call that `answer` has failed for."""
        try:
            await self._call.close("the call was not answered", "not_connected")
        finally:
            await self._stop()

    async def _stop(self) -> None:
        self._audio.close()
        await close_peer(self._peer)

    async def _follow_reports(self) -> Never:
        while True:
            await asyncio.sleep(_REPORT_S)
            for sender in self._peer.getSenders():
                for stats in (await sender.getStats()).values():
                    if isinstance(stats, RTCRemoteInboundRtpStreamStats):
                        self._output.reported(
                            stats.roundTripTime, stats.jitter / RTP_HZ, stats.fractionLost / 256
                        )

    def _give_up(self, reason: str) -> None:
        self._connection.end(Ending(reason, "too_much_input", 1008))

    def _on_packet(self, packet: RtpPacket) -> None:
        self._connection.received += 1
        try:
            events = self._line.events
            if events is not None and packet.payload_type == events.payload_type:
                self._press(self._events.on_packet(packet.payload, packet.timestamp))
            else:
                self._audio.add(packet)
        except Exception:  # no task here would catch it
            self._connection.fail()

    def _press(self, key: str) -> None:
        if key and self._wire.connected:
            self._keys += 1
            if self._keys > self._limits.max_dtmf_digits:
                message = f"more than {self._limits.max_dtmf_digits} keys were pressed"
                self._connection.end(Ending(message, "too_much_input", 1008))
            else:
                self._call.press(key, round(time.time()))

    def _hear(self, samples: Samples) -> None:
        # packets may arrive before DTLS has verified the caller
        if self._wire.connected and self._handler is not None:
            self._handler.hear(samples)

    def _hear_gap(self, samples: Samples) -> None:
        if self._wire.connected and self._handler is not None:
            self._handler.hear(samples, filler=True)


def _refused(message: str) -> RequestError:
    return RequestError("invalid_offer", message, "sdp")
