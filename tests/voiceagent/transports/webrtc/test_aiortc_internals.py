"""The private parts of aiortc that sound goes through exist; `test_webrtc.py` uses them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from aiortc import RTCPeerConnection, RTCRtpTransceiver
from aiortc.rtcrtpreceiver import StreamStatistics
from library_parts import assert_parts
from pylibsrtp import Policy, Session

from voiceagent.transports.limits import USUAL_LIMITS, Allowance
from voiceagent.transports.webrtc.aiortc_internals import QuietTrack, SoundIn, ice_connection
from voiceagent.transports.webrtc.rtp import RtpPacket

USER = "voiceagent/transports/webrtc/aiortc_internals.py"


async def voice() -> RTCRtpTransceiver:
    peer = RTCPeerConnection()
    transceiver = peer.addTransceiver(QuietTrack(), direction="sendrecv")
    await peer.close()
    return transceiver


async def test_a_transceiver_has_its_codecs_and_extensions() -> None:
    assert_parts("aiortc", await voice(), "_bundled", "_codecs", "_headerExtensions", "mid", user=USER)


async def test_a_receiver_has_its_streams_and_transport() -> None:
    receiver = (await voice()).receiver
    assert_parts("aiortc", receiver, "_RTCRtpReceiver__remote_streams", "transport", user=USER)
    assert_parts("aiortc", StreamStatistics(48_000), "add", user=USER)


async def test_a_sender_has_the_counters_of_its_reports() -> None:
    counters = ("ntp_timestamp", "rtp_timestamp", "octet_count", "packet_count")
    names = [f"_RTCRtpSender__{counter}" for counter in counters]
    assert_parts("aiortc", (await voice()).sender, "_ssrc", *names, user=USER)


async def test_a_transport_has_its_keys_and_the_connection_below() -> None:
    dtls = (await voice()).receiver.transport
    keys, handlers = ("_rx_srtp", "_tx_srtp"), ("_handle_rtcp_data", "_handle_rtp_data")
    assert_parts("aiortc", dtls, *keys, *handlers, "transport", "_ssl", user=USER)
    assert_parts("aiortc", dtls.transport, "_connection", "iceGatherer", user=USER)
    assert_parts("aiortc", dtls.transport.iceGatherer, "_connection", user=USER)
    assert_parts("aioice", ice_connection(await voice()), "data_received", "_nominated", user=USER)


class Line:
    """Packets of a caller with a key, and their effect: the sound, and the packets that aiortc receives."""

    def __init__(self) -> None:
        self.heard: list[RtpPacket] = []
        self.taken: list[bytes] = []
        self._connection = SimpleNamespace(data_received=lambda data, component: self.taken.append(data))
        key = bytes(30)
        self._sent = Session(Policy(key, Policy.SSRC_ANY_OUTBOUND))
        self._dtls = SimpleNamespace(
            _rx_srtp=Session(Policy(key, Policy.SSRC_ANY_INBOUND)),
            transport=SimpleNamespace(_connection=self._connection),
            _handle_rtcp_data=self._read,
        )
        receiver = SimpleNamespace(_RTCRtpReceiver__remote_streams={}, transport=self._dtls)
        voice: Any = SimpleNamespace(_codecs=[SimpleNamespace(payloadType=96)], receiver=receiver)
        allowance = Allowance(USUAL_LIMITS.max_bytes_per_s, 0.0)
        self.sound = SoundIn(voice, self.heard.append, 3, allowance)

    def send(self, data: bytes) -> None:
        self._connection.data_received(data, 1)

    def say(self, packet: RtpPacket) -> None:
        """An encrypted packet of sound."""
        self.send(self._sent.protect(packet.serialize()))

    def report(self, source: int) -> None:
        """A report whose signature is right."""
        data = b"\x80\xc9\x00\x01" + source.to_bytes(4, "big")
        self.send(data)
        if data in self.taken:
            asyncio.run(self._dtls._handle_rtcp_data(data))

    async def _read(self, data: bytes) -> None:
        pass


def test_reports_of_so_many_sources_are_taken_and_of_no_more() -> None:
    line = Line()
    for source in (1, 2, 3, 4, 5, 1, 3):
        line.report(source)
    assert [data[7] for data in line.taken] == [1, 2, 3, 1, 3]


def test_sound_beyond_what_may_come_is_dropped_before_it_is_heard() -> None:
    line = Line()
    for number in range(20_000):
        line.say(RtpPacket(96, number & 0xFFFF, 960 * number & 0xFFFFFFFF, 7, bytes(60)))
    assert 3_000 < len(line.heard) < 10_000
