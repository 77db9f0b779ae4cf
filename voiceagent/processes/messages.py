"""Messages between processes, and their framing on the socket.

A frame is a 4-byte big-endian length and that many bytes of pickle. Pickle is safe here: the socket is an
anonymous pair between a process and the child it started itself.

Streams are those of HTTP/2 (RFC 9113, section 5): either process opens them, one with even numbers and the
other with odd ones; items flow under credit (see `flow_control`).
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

_LENGTH = struct.Struct(">I")


class RpcError(Exception):
    """A request failed in the other process, or that process is gone. The text says how."""


class Start(NamedTuple):
    """To a child, once and first: its task."""

    task: Any


class Ready(NamedTuple):
    """From a child: it is ready. facts: what it reports about itself."""

    facts: Any


class Failed(NamedTuple):
    """From a child: it cannot work, and ends."""

    reason: str


class Ping(NamedTuple):
    """Heartbeat request, in either direction. The working thread answers it, so that a hang shows."""


class Pong(NamedTuple):
    """Heartbeat reply. full: the process cannot accept new work now."""

    full: bool = False


class Notification(NamedTuple):
    """Notification from a child, pushed without a request so that it survives the child's death."""

    value: Any


class Windows(NamedTuple):
    """Maximum unread bytes of a stream: at the end that serves it, and at the end that opened it."""

    there: int = 1 << 18
    here: int = 1 << 18


class Open(NamedTuple):
    """Opens a stream to the named service. asked: the request."""

    stream: int
    service: str
    asked: Any
    windows: Windows


class Item(NamedTuple):
    """The next value of a stream, in either direction."""

    stream: int
    value: Any


class Credit(NamedTuple):
    """Grants flow-control credit, in either direction: this many bytes of the stream were read."""

    stream: int
    size: int


class End(NamedTuple):
    """From the opener of a stream: all items are sent. From the server of a stream: it is complete."""

    stream: int


class Close(NamedTuple):
    """From the opener of a stream: cancel it."""

    stream: int


class Broken(NamedTuple):
    """From the server of a stream: it failed with this error and is closed."""

    stream: int
    error: Exception


LifeMessage = Start | Ready | Failed | Ping | Pong | Notification
"""Messages about the process as a whole."""
StreamMessage = Open | Item | Credit | End | Close | Broken
Message = LifeMessage | StreamMessage


def encode(message: Message) -> bytes:
    """Return one frame."""
    # pickle, as messages hold numpy arrays and our own classes, at a few microseconds each
    body = io.BytesIO()
    _Pickler(body, protocol=5).dump(message)
    return _LENGTH.pack(body.tell()) + body.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles a record, such as a message of a prompt, as its class and its fields. The default state of
    dataclasses with slots takes four times as long to write, and three to read.
    """

    _known: ClassVar[dict[type[Any], Callable[[Any], tuple[Any, ...]] | None]] = {}

    def reducer_override(self, about: Any) -> Any:
        kind = type(about)
        if kind not in self._known:
            self._known[kind] = _fields(kind)
        given = self._known[kind]
        return NotImplemented if given is None else (kind, given(about))


def _fields(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return a getter for the fields that recreate a record; None for other classes."""
    if not is_dataclass(kind) or "__slots__" not in vars(kind) or hasattr(kind, "__post_init__"):
        return None
    given = fields(kind)
    if len(given) < 2 or not all(field.init and not field.kw_only for field in given):
        return None
    return attrgetter(*(field.name for field in given))


class FrameReader:
    """Splits a byte stream into messages."""

    def __init__(self) -> None:
        self._unread = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Message, int]]:
        """Yield each message completed by `data`, with its size on the wire in bytes."""
        self._unread += data
        while len(self._unread) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._unread)[0]
            if len(self._unread) < end:
                return
            message: Message = pickle.loads(self._unread[_LENGTH.size : end])
            del self._unread[:end]
            yield message, end
