"""Audio is encrypted by libsrtp itself, to the bytes of pylibsrtp's own methods."""

from __future__ import annotations

import pylibsrtp
import pytest
from library_parts import assert_parts
from pylibsrtp import Policy, Session, _binding

from voiceagent.transports.webrtc.pylibsrtp_internals import MAX_PACKET_BYTES, rtp_decryption, rtp_encryption
from voiceagent.transports.webrtc.rtp import RtpPacket

USER = "voiceagent/transports/webrtc/pylibsrtp_internals.py"
KEY = bytes(range(30))


def outbound() -> Session:
    return Session(Policy(KEY, Policy.SSRC_ANY_OUTBOUND))


def inbound() -> Session:
    return Session(Policy(KEY, Policy.SSRC_ANY_INBOUND))


def packet(number: int, size: int = 60) -> bytes:
    return RtpPacket(96, number, 960 * number, 7, bytes(size)).serialize()


def test_the_library_has_its_binding_and_a_session_its_handle() -> None:
    assert_parts("pylibsrtp", _binding.lib, "srtp_protect", "srtp_unprotect", user=USER)
    assert_parts("pylibsrtp", _binding.ffi, "new", "buffer", user=USER)
    assert_parts("pylibsrtp", pylibsrtp, "ERRORS", "SRTP_MAX_TRAILER_LEN", user=USER)
    assert_parts("pylibsrtp", outbound(), "_srtp", user=USER)


def test_packets_are_those_of_the_library_in_turn_with_its_own() -> None:
    session, reference = outbound(), outbound()
    protect = rtp_encryption(session)
    for number in range(8):
        mine = protect(packet(number)) if number % 2 else session.protect(packet(number))
        assert mine == reference.protect(packet(number))


def test_packets_of_different_lengths_are_decrypted_as_they_were() -> None:
    protect, unprotect = rtp_encryption(outbound()), rtp_decryption(inbound())
    for number, size in enumerate((0, 1, 1_300, 3, 160)):
        assert unprotect(protect(packet(number, size))) == packet(number, size)


def test_a_forged_a_repeated_and_a_short_packet_are_refused() -> None:
    protect, unprotect = rtp_encryption(outbound()), rtp_decryption(inbound())
    sent = protect(packet(1))
    with pytest.raises(pylibsrtp.Error, match="authentication"):
        unprotect(sent[:-1] + bytes((sent[-1] ^ 1,)))
    assert unprotect(sent) == packet(1)
    with pytest.raises(pylibsrtp.Error, match="replay"):
        unprotect(sent)
    with pytest.raises(pylibsrtp.Error):
        unprotect(b"\x80")


def test_a_packet_that_is_too_long_is_refused() -> None:
    with pytest.raises(pylibsrtp.Error, match="1357 bytes; at most 1356"):
        rtp_encryption(outbound())(packet(0, 1_345))
    with pytest.raises(pylibsrtp.Error, match="at most 1500"):
        rtp_decryption(inbound())(bytes(MAX_PACKET_BYTES + 1))


def test_the_session_lives_as_long_as_its_function() -> None:
    protect = rtp_encryption(outbound())
    assert rtp_decryption(inbound())(protect(packet(0))) == packet(0)
