"""Packets of a WebRTC caller that violates the protocols: below aiortc, on its connection."""

from __future__ import annotations

import re
import socket
from typing import Any

from aioice import stun
from aiortc.rtcsctptransport import DataChunk, serialize_packet
from rtc_caller import RtcCaller


class Raw:
    """Chunks of SCTP, as they go out."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bytes__(self) -> bytes:
        return self._data


async def send_chunks(caller: RtcCaller, data: bytes) -> None:
    """One packet of SCTP with these chunks."""
    events: Any = caller.peer.sctp
    head = (events._local_port, events._remote_port, events._remote_verification_tag)
    await events.transport._send_data(serialize_packet(*head, Raw(data)))


def piece(tsn: int, flags: int, stream: int = 3) -> bytes:
    """A chunk with a byte of a message. flags: 1 its last, 2 its first, 4 out of order."""
    chunk = DataChunk(flags=flags)
    chunk.tsn, chunk.stream_id, chunk.protocol, chunk.user_data = tsn % (1 << 32), stream, 51, b"x"
    return bytes(chunk)


class Asked:
    """A call that was offered and answered. host, port: where it is asked for."""

    def __init__(self, offer: str, answer: str) -> None:
        (self.host, port), *_ = re.findall(r"a=candidate:\S+ 1 udp \d+ (\d+\.\S+) (\d+) typ host", answer)
        self.port = int(port)
        self._name = f"{_of(answer, 'ufrag')}:{_of(offer, 'ufrag')}"
        self._password = _of(answer, "pwd")

    def ask(self) -> socket.socket:
        """Ask, from an address of its own, as who knows the password."""
        request = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
        request.attributes |= {"USERNAME": self._name, "PRIORITY": 1, "ICE-CONTROLLING": 1}
        request.add_message_integrity(self._password.encode())
        asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        asking.connect((self.host, self.port))
        asking.send(bytes(request))
        return asking


def _of(description: str, what: str) -> str:
    return description.partition(f"a=ice-{what}:")[2].split()[0]
