"""RTP packets, compared with aiortc's."""

from __future__ import annotations

import aiortc.rtp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.webrtc.rtp import MIN_BUFFER_S, Remote, RtpPacket, is_media, is_rtp, mid_extension

packets = st.builds(
    RtpPacket,
    payload_type=st.integers(96, 127),
    sequence_number=st.integers(0, 2**16 - 1),
    timestamp=st.integers(0, 2**32 - 1),
    ssrc=st.integers(0, 2**32 - 1),
    payload=st.binary(max_size=200),
    marker=st.booleans(),
)


@given(packets)
def test_a_packet_comes_back_as_it_went(packet: RtpPacket) -> None:
    assert RtpPacket.parse(packet.serialize()) == packet


@given(packets, st.text("0123456789", min_size=1, max_size=16))
def test_another_reads_what_we_send_and_to_what_it_belongs(packet: RtpPacket, mid: str) -> None:
    known = aiortc.rtp.HeaderExtensionsMap()
    known._HeaderExtensionsMap__ids.mid = 4  # type: ignore[attr-defined]
    read = aiortc.rtp.RtpPacket.parse(packet.serialize(mid_extension(4, mid)), known)
    assert (read.payload, read.extensions.mid) == (packet.payload, mid)
    assert (read.marker, read.payload_type) == (packet.marker, packet.payload_type)
    assert (read.sequence_number, read.timestamp) == (packet.sequence_number, packet.timestamp)


@given(packets, st.lists(st.integers(0, 2**32 - 1), max_size=15), st.integers(0, 20))
def test_we_read_what_another_sends_with_all_that_a_header_can_have(
    packet: RtpPacket, sources: list[int], padding: int
) -> None:
    sent = aiortc.rtp.RtpPacket(
        packet.payload_type,
        int(packet.marker),
        packet.sequence_number,
        packet.timestamp,
        packet.ssrc,
        packet.payload,
    )
    sent.csrc, sent.padding_size = sources, padding
    known = aiortc.rtp.HeaderExtensionsMap()
    known._HeaderExtensionsMap__ids.mid = 4  # type: ignore[attr-defined]
    sent.extensions.mid = "audio"
    assert RtpPacket.parse(sent.serialize(known)) == packet


@given(st.binary(max_size=60))
def test_no_datagram_breaks_the_reader(data: bytes) -> None:
    packet = RtpPacket.parse(data)
    assert packet is None or len(packet.payload) <= len(data)


def test_what_shares_a_port_is_told_apart() -> None:
    voice = RtpPacket(111, 1, 2, 3, b"sound", marker=True).serialize()
    report = bytes(aiortc.rtp.RtcpRrPacket(ssrc=1, reports=[]))
    assert is_media(voice)
    assert is_media(report)
    assert is_rtp(voice)
    assert not is_rtp(report)
    assert not is_media(b"\x16\xfe\xfd")  # DTLS
    assert not is_media(b"\x00\x01\x00\x00")  # STUN
    assert not is_media(b"")


def test_before_any_report_the_caller_is_behind_by_what_a_browser_holds() -> None:
    assert Remote().delay_s == MIN_BUFFER_S


def test_half_the_round_trip_and_an_uneven_line_add_to_it() -> None:
    remote = Remote()
    remote.reported(0.08, 0.005, 0.25)
    assert remote.delay_s == pytest.approx(MIN_BUFFER_S + 0.04 + 0.01)
    assert remote.lost == 0.25


@pytest.mark.parametrize(("round_trip_s", "jitter_s"), [(0.0, 2**32 / 48_000), (1e9, 0.0), (-65_535.0, 0.0)])
def test_a_report_of_absurd_times_is_of_seconds_at_most(round_trip_s: float, jitter_s: float) -> None:
    remote = Remote()
    remote.reported(round_trip_s, jitter_s, 0.0)
    assert 0.0 <= remote.delay_s <= 5.0


@given(st.floats(0, 2), st.floats(0, 1))
def test_a_longer_or_more_uneven_way_is_never_a_shorter_delay(round_trip_s: float, jitter_s: float) -> None:
    near, far = Remote(), Remote()
    near.reported(None, 0.0, 0.0)
    far.reported(round_trip_s, jitter_s, 0.0)
    assert far.delay_s >= near.delay_s
