"""What a host and its worker process say to each other, and how it is framed on their socket.

A frame is a 4-byte big-endian length and that many bytes of pickle. Pickle is safe here: the socket is an
anonymous pair between a process and the child it started itself.

Items flow under credit, as in HTTP/2 (RFC 9113, section 5.2): each side may have at most a window of bytes of
a stream unread at the other, and `Credit` gives back what was read.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

_LENGTH = struct.Struct(">I")


class Start(NamedTuple):
    """To the worker, once, first: build the engine.

    engine: `package.module:Class`. arguments: its keyword arguments.
    send_window: bytes a stream's items from the worker may have unread at the host.
    """

    engine: str
    arguments: dict[str, Any]
    send_window: int


class Ready(NamedTuple):
    """From the worker: the engine is built; `facts` is what it tells of itself."""

    facts: dict[str, Any]


class Failed(NamedTuple):
    """From the worker: the engine could not be built; the worker ends."""

    reason: str


class Open(NamedTuple):
    """To the worker: a new stream."""

    stream: int


class Item(NamedTuple):
    """Either way: the next thing of a stream."""

    stream: int
    value: Any


class Credit(NamedTuple):
    """Either way: so many bytes of the stream's items were read."""

    stream: int
    size: int


class End(NamedTuple):
    """To the worker: the stream's items are all sent. From it: the stream is complete."""

    stream: int


class Close(NamedTuple):
    """To the worker: nobody wants the stream any more."""

    stream: int


class Error(NamedTuple):
    """From the worker: the stream failed and is gone."""

    stream: int
    reason: str


Message = Start | Ready | Failed | Open | Item | Credit | End | Close | Error


def encode(message: Message) -> bytes:
    """One frame."""
    body = pickle.dumps(message, protocol=5)
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Cuts a byte stream into messages."""

    def __init__(self) -> None:
        self._unread = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Message, int]]:
        """Each message completed by `data`, with its size on the wire in bytes."""
        self._unread += data
        while len(self._unread) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._unread)[0]
            if len(self._unread) < end:
                return
            message: Message = pickle.loads(self._unread[_LENGTH.size : end])
            del self._unread[:end]
            yield message, end
