"""Keys over WebRTC as telephone events (RFC 4733), and as tones where the caller does not take these."""

from __future__ import annotations

import asyncio
import re
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rtc_caller import RtcCaller
from webrtc_site import Site, browsing

from audio.dtmf import DtmfDetector
from voiceagent.access.access_control import Admission
from voiceagent.session.agent import ToolFailed
from voiceagent.transports.webrtc.rtp import RtpPacket
from voiceagent.transports.webrtc.sdp import events_of, with_telephone_events
from voiceagent.transports.webrtc.telephone_events import KEYS, EventFormat, EventReceiver, event_packets

EVENTS = 126
OFFER = "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111 126\r\na=rtpmap:111 opus/48000/2\r\n{}m=application 9 x y\r\n"


@given(
    keys=st.text(KEYS, max_size=6),
    began=st.integers(0, 2**32 - 1),
    lost=st.sets(st.integers(0, 40)),
)
def test_each_key_is_received_once_whatever_packets_are_lost(keys: str, began: int, lost: set[int]) -> None:
    receiver, number, heard, expected = EventReceiver(), 0, "", ""
    for index, key in enumerate(keys):
        arrived = False
        for packet in event_packets(key, 960):
            if number not in lost:
                arrived = True
                heard += receiver.on_packet(packet.payload, (began + index * 9_600) % 2**32)
            number += 1
        expected += key if arrived else ""
    assert heard == expected


@given(payload=st.binary(max_size=12), timestamp=st.integers(0, 2**32 - 1))
def test_any_payload_is_a_key_or_none(payload: bytes, timestamp: int) -> None:
    assert EventReceiver().on_packet(payload, timestamp) in ("", *KEYS)


def test_the_packets_of_a_key_grow_and_the_last_comes_three_times() -> None:
    packets = list(event_packets("#", 960))
    assert [packet.payload[0] for packet in packets] == [11] * 7
    assert [int.from_bytes(packet.payload[2:]) for packet in packets] == [960, 1920, 2880, 3840] + [4800] * 3
    assert [packet.payload[1] >> 7 for packet in packets] == [0, 0, 0, 0, 1, 1, 1]
    assert [packet.first for packet in packets] == [True] + [False] * 6


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a=rtpmap:126 telephone-event/48000\r\n", (126, 48_000)),
        ("a=rtpmap:101 telephone-event/8000\r\n", (101, 8_000)),
        ("a=rtpmap:126 telephone-event/8000\r\na=rtpmap:110 telephone-event/48000\r\n", (110, 48_000)),
        ("a=rtpmap:999 telephone-event/48000\r\n", None),
        ("a=rtpmap:126 telephone-event/16000\r\n", None),
        ("", None),
    ],
)
def test_events_are_taken_at_the_rate_of_opus_or_of_telephones(
    line: str, expected: tuple[int, int] | None
) -> None:
    assert events_of(OFFER.format(line)) == expected


def test_the_answer_accepts_the_keys_of_a_phone() -> None:
    answer = with_telephone_events(OFFER.format(""), EventFormat(101, 48_000))
    assert "m=audio 9 UDP/TLS/RTP/SAVPF 111 126 101\r\n" in answer
    assert "a=rtpmap:101 telephone-event/48000\r\na=fmtp:101 0-15\r\n" in answer


class KeyCaller(RtcCaller):
    """A caller that offers telephone events at one rate."""

    rate_hz = 48_000

    async def offer(self) -> str:
        offer = await super().offer()
        offer = re.sub(r"(m=audio [^\r\n]*)", rf"\1 {EVENTS}", offer, count=1)
        rtpmap = f"a=rtpmap:{EVENTS} telephone-event/{self.rate_hz}\r\n"
        return re.sub(r"(a=rtpmap:\d+ opus[^\r\n]*\r\n)", rf"\1{rtpmap}", offer, count=1)

    def reachable(self, answer: str) -> str:
        return re.sub(rf" {EVENTS}\b|a=(rtpmap|fmtp):{EVENTS} [^\r\n]*\r\n", "", answer)

    def listen_for_packets(self) -> list[RtpPacket]:
        packets: list[RtpPacket] = []
        transport: Any = self.peer.getTransceivers()[0].receiver.transport

        async def keep(data: bytes, arrival_time_ms: int) -> None:
            packet = RtpPacket.parse(data)
            assert packet is not None
            packets.append(packet)

        transport._handle_rtp_data = keep
        return packets


@pytest.mark.parametrize("rate_hz", [48_000, 8_000])
async def test_keys_go_both_ways_as_events(rate_hz: int) -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        caller = KeyCaller(http)
        caller.rate_hz = rate_hz
        try:
            await caller.connect()
            assert f"a=rtpmap:{EVENTS} telephone-event/{rate_hz}" in caller.answer
            (call,) = site.calls
            packets = caller.listen_for_packets()
            assert call.line is not None
            await call.line.send_digits("1w#")
            async with asyncio.timeout(10):
                while sum(packet.payload_type == EVENTS for packet in packets) < 14:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            events = [packet for packet in packets if packet.payload_type == EVENTS]
            times = [list(group) for _, group in groupby(events, lambda packet: packet.timestamp)]
            assert [group[0].payload[0] for group in times] == [1, 11]
            assert all(group[0].marker for group in times)
            assert int.from_bytes(times[0][-1].payload[2:]) == rate_hz // 10, "a key lasts 0.1 s"
            assert (times[1][0].timestamp - times[0][0].timestamp) % 2**32 > 0.5 * 48_000

            transport: Any = caller.peer.getTransceivers()[0].sender.transport
            for number, (key, timestamp) in enumerate((("4", 0), ("2", 9_600))):
                for index, event in enumerate(event_packets(key, rate_hz // 50)):
                    sequence = 7 * number + index
                    packet = RtpPacket(EVENTS, sequence, timestamp, 77, event.payload, event.first)
                    await transport._send_rtp(packet.serialize())
            await call.until(lambda call: [getattr(one, "digit", "") for one in call.requests].count("2"))
            digits = [one.digit for one in call.requests if hasattr(one, "digit")]
            assert digits == ["4", "2"]
        finally:
            await caller.peer.close()


async def test_keys_are_tones_where_the_caller_offers_no_events() -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        caller = RtcCaller(http)
        try:
            await caller.connect()
            assert "telephone-event" not in caller.answer
            (call,) = site.calls
            assert call.line is not None
            await call.line.send_digits("15")
            await asyncio.sleep(0.5)
            assert DtmfDetector(48_000).push(caller.sound.astype(np.int16)) == "15"
            with pytest.raises(ToolFailed, match="no phone line"):
                await call.line.transfer("desk")
        finally:
            await caller.peer.close()
