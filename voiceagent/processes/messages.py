"""What two processes of ours say to each other, and how it is framed on their socket.

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
    """The other process failed at what it was asked, or is not there any more; the text says how."""


class Start(NamedTuple):
    """To a child, once, first: what it is to be."""

    task: Any


class Ready(NamedTuple):
    """From a child: it does what it is for; `facts` is what it tells of itself."""

    facts: Any


class Failed(NamedTuple):
    """From a child: it cannot do what it is for, and ends."""

    reason: str


class Ping(NamedTuple):
    """Either way: are you there? What does the work answers, and so cannot while it hangs."""


class Pong(NamedTuple):
    """The answer. full: nothing more can be taken now."""

    full: bool = False


class Told(NamedTuple):
    """From a child: what its parent is to know at once, as the child may die before it is asked."""

    value: Any


class Windows(NamedTuple):
    """Bytes of a stream that may be unread: at the one who answers it, and at the one who opened it."""

    there: int = 1 << 18
    here: int = 1 << 18


class Open(NamedTuple):
    """A new stream, for the service of that name. asked: what it is opened with."""

    stream: int
    service: str
    asked: Any
    windows: Windows


class Item(NamedTuple):
    """Either way: the next thing of a stream."""

    stream: int
    value: Any


class Credit(NamedTuple):
    """Either way: a number of bytes of the stream's items were read."""

    stream: int
    size: int


class End(NamedTuple):
    """From who opened the stream: its items are all sent. From who answers it: the stream is complete."""

    stream: int


class Close(NamedTuple):
    """From who opened the stream: nobody wants it any more."""

    stream: int


class Broken(NamedTuple):
    """From who answers the stream: it failed with this and is gone."""

    stream: int
    error: Exception


LifeMessage = Start | Ready | Failed | Ping | Pong | Told
"""Messages about the process as a whole."""
StreamMessage = Open | Item | Credit | End | Close | Broken
Message = LifeMessage | StreamMessage


def encode(message: Message) -> bytes:
    """One frame."""
    # pickle, as messages hold numpy arrays and our own classes, at a few microseconds each
    body = io.BytesIO()
    _Pickler(body, protocol=5).dump(message)
    return _LENGTH.pack(body.tell()) + body.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles a record, such as one of the messages of a prompt, as its class and its fields. The state that
    dataclasses with slots give by themselves takes four times as long to make, and three to read.
    """

    _known: ClassVar[dict[type[Any], Callable[[Any], tuple[Any, ...]] | None]] = {}

    def reducer_override(self, about: Any) -> Any:
        kind = type(about)
        if kind not in self._known:
            self._known[kind] = _fields(kind)
        given = self._known[kind]
        return NotImplemented if given is None else (kind, given(about))


def _fields(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]] | None:
    """Gives the fields of a record by which it can be made again; None for what is no such record."""
    if not is_dataclass(kind) or "__slots__" not in vars(kind) or hasattr(kind, "__post_init__"):
        return None
    given = fields(kind)
    if len(given) < 2 or not all(field.init and not field.kw_only for field in given):
        return None
    return attrgetter(*(field.name for field in given))


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
