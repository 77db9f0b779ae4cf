"""SRTP of a call's audio by libsrtp itself, with buffers that are made once.

For each packet pylibsrtp's own methods allocate the length that libsrtp writes, and look up everything anew:
half of the time of a packet. Both may be used on one session in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pylibsrtp import ERRORS, SRTP_MAX_TRAILER_LEN, Error, Session
from pylibsrtp._binding import ffi, lib  # type: ignore[import-not-found]

MAX_PACKET_BYTES = 1_500
"""Maximum size of an encrypted packet."""


def rtp_encryption(session: Session) -> Callable[[bytes], bytes]:
    """Return a function that encrypts an RTP packet. It raises pylibsrtp.Error for an invalid one."""
    return _function(session, lib.srtp_protect, MAX_PACKET_BYTES - SRTP_MAX_TRAILER_LEN)


def rtp_decryption(session: Session) -> Callable[[bytes], bytes]:
    """Return a function that decrypts an RTP packet. It raises pylibsrtp.Error for one that is forged,
    repeated, too long or invalid.
    """
    return _function(session, lib.srtp_unprotect, MAX_PACKET_BYTES)


def _function(session: Session, apply: Callable[..., int], max_bytes: int) -> Callable[[bytes], bytes]:
    owner: Any = session._srtp  # libsrtp's session lives as long as this
    content = ffi.new("char[]", MAX_PACKET_BYTES)
    buffer, length = ffi.buffer(content), ffi.new("int *")

    def processed(packet: bytes) -> bytes:
        size = len(packet)
        if size > max_bytes:
            raise Error(f"a packet has {size} bytes; at most {max_bytes} are allowed")
        buffer[0:size] = packet
        length[0] = size
        if status := apply(owner[0], content, length):
            raise Error(ERRORS[status])
        result: bytes = buffer[0 : length[0]]
        return result

    return processed
