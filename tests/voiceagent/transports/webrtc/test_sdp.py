"""Contents of offers and answers."""

from __future__ import annotations

import pytest

from voiceagent.transports.limits import OfferLimits
from voiceagent.transports.webrtc.sdp import (
    OfferTooLarge,
    check_offer,
    with_announced_address,
    with_callable_candidates,
    with_speech_settings,
)

reachable = "192.0.2.7".__eq__
HIDDEN = "0b1c2d3e-1111-4222-8333-444455556666.local"
OFFER = (
    "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
    f"a=candidate:1 1 udp 2113937151 {HIDDEN} 50000 typ host generation 0\r\n"
    "a=candidate:2 1 udp 2113937150 192.0.2.7 50001 typ host generation 0\r\n"
    "a=end-of-candidates\r\n"
    "a=mid:0\r\n"
)
ANSWER = (
    "m=audio 50000 UDP/TLS/RTP/SAVPF 111\r\n"
    "c=IN IP4 192.0.2.2\r\n"
    "a=rtpmap:111 opus/48000/2\r\n"
    "a=candidate:1 1 udp 2130706431 192.0.2.2 50000 typ host\r\n"
    "a=candidate:2 1 udp 2130706430 fd00::2 50001 typ host\r\n"
    "a=candidate:3 1 udp 2130706429 192.0.2.3 50000 typ host\r\n"
    "a=candidate:4 1 udp 1694498815 198.51.100.4 50000 typ srflx raddr 192.0.2.2 rport 50000\r\n"
)


def test_candidates_behind_a_local_name_are_taken_out_and_more_are_expected() -> None:
    kept = with_callable_candidates(OFFER, reachable)
    assert ".local" not in kept
    assert "end-of-candidates" not in kept
    assert "192.0.2.7" in kept
    assert "a=mid:0\r\n" in kept


def test_an_offer_whose_candidates_may_all_be_called_stays_as_it_is() -> None:
    offer = OFFER.splitlines(keepends=True)
    plain = "".join([offer[0], offer[2], offer[4]])
    assert with_callable_candidates(plain, reachable) == plain


def test_addresses_that_may_not_be_called_are_taken_out() -> None:
    kept = with_callable_candidates(OFFER, lambda address: address == "192.0.2.8")
    assert "a=candidate" not in kept
    assert "a=mid:0\r\n" in kept


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        ("a=x\r\n" * 1_001, "lines; allowed: at most 1000"),
        ("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n" * 9, "media sections; allowed: at most 8"),
        ("a=candidate:1 1 udp 1 192.0.2.7 1 typ host\r\n" * 33, "candidates; allowed: at most 32"),
        (f"a={'x' * 70_000}\r\n", "bytes; allowed: at most 65536"),
    ],
)
def test_an_offer_beyond_a_limit_is_refused_with_what_is_allowed(line: str, limit: str) -> None:
    with pytest.raises(OfferTooLarge, match=limit):
        check_offer(line, OfferLimits())


def test_the_answer_asks_for_one_channel_and_copies_right_behind_the_codec() -> None:
    lines = with_speech_settings(ANSWER, 24_000).split("\r\n")
    codec = lines.index("a=rtpmap:111 opus/48000/2")
    assert lines[codec + 1] == "a=fmtp:111 minptime=10;useinbandfec=1;stereo=0;maxplaybackrate=24000"


def test_an_announced_address_replaces_the_machines_once_a_port() -> None:
    lines = with_announced_address(ANSWER, "203.0.113.9").split("\r\n")
    assert [line for line in lines if "typ host" in line] == [
        "a=candidate:1 1 udp 2130706431 203.0.113.9 50000 typ host",
        "a=candidate:2 1 udp 2130706430 203.0.113.9 50001 typ host",
    ]
    assert any("198.51.100.4" in line for line in lines), "what was found from outside stays"
