"""The private parts of aiortc that sound goes through are there; `test_webrtc.py` uses them."""

from __future__ import annotations

from aiortc import RTCPeerConnection, RTCRtpTransceiver, RTCSctpTransport
from aiortc.rtcrtpreceiver import StreamStatistics
from library_parts import assert_parts

from voiceagent.transports.webrtc.aiortc_internals import QuietTrack, ice_connection

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
    assert_parts("aiortc", dtls, *keys, *handlers, "transport", user=USER)
    assert_parts("aiortc", dtls.transport, "_connection", "iceGatherer", user=USER)
    assert_parts("aiortc", dtls.transport.iceGatherer, "_connection", user=USER)
    assert_parts("aioice", ice_connection(await voice()), "data_received", "_nominated", user=USER)


async def test_events_come_and_go_in_chunks() -> None:
    peer = RTCPeerConnection()
    peer.createDataChannel("events")
    assert isinstance(peer.sctp, RTCSctpTransport)
    names = ("_send_chunk", "_handle_data", "_inbound_streams", "_advertised_rwnd")
    assert_parts("aiortc", peer.sctp, *names, user=USER)
    await peer.close()
