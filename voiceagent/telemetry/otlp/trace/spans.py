"""Ended spans of one call.

The identity of a call's trace and the header `traceparent` are those of W3C Trace Context
(https://www.w3.org/TR/trace-context). Ids are derived from the call id, so that a call's trace can be found
without a lookup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1
Value = str | bool | int | float | tuple[str, ...]
Attributes = dict[str, Value]
Kind = Literal["server", "client", "internal"]
CALL = "call"
"""Name of the root span of a call."""


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A position in a trace. trace_id, span_id: 16 and 8 bytes in hexadecimal; span_id is "" at the root.
    sampled: the trace is recorded.
    """

    trace_id: str
    span_id: str = ""
    sampled: bool = True


def parse(header: str) -> TraceContext | None:
    """Parse a `traceparent` header; return None if it is invalid. Later versions are read as version 00."""
    match = _HEADER.fullmatch(header.strip())
    if match is None:
        return None
    version, trace_id, span_id, flags, more = match.groups()
    if version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


def header_of(context: TraceContext) -> str:
    """Return the `traceparent` header of a span."""
    return f"00-{context.trace_id}-{context.span_id}-{int(context.sampled):02x}"


def new_trace(call_id: str, sample: float) -> TraceContext:
    """Return a new trace for a call. sample: fraction of calls that are recorded."""
    trace_id = blake2b(call_id.encode(), digest_size=16).hexdigest()
    return TraceContext(trace_id, "", int(trace_id[16:], 16) < sample * 2**64)


def span_id(call_id: str, name: str) -> str:
    """Return the id of a call's span, which is a hash of its name."""
    return blake2b(name.encode(), digest_size=8, key=call_id.encode()[:64]).hexdigest()


@dataclass(frozen=True, slots=True)
class Span:
    """An ended span. Ids as in `TraceContext`; times in Unix nanoseconds.

    error: its kind, "" for none. remote_parent: the parent span belongs to the caller's trace.
    """

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    kind: Kind = "internal"
    error: str = ""
    remote_parent: bool = False


class CallSpans:
    """Collects the spans of one call. place: the parent in the caller's trace, or a new trace. offset_ns:
    from the clock to Unix time.

    Span ids are derived from the traced object (turn, response, tool call), so that children can refer to a
    parent without a lookup.
    """

    def __init__(self, call_id: str, place: TraceContext, offset_ns: int) -> None:
        self._call_id = call_id
        self._offset_ns = offset_ns
        self._ended: list[Span] = []
        self.place = place

    def traceparent(self, key: str) -> str:
        """Return the `traceparent` header for children of a span."""
        return header_of(TraceContext(self.place.trace_id, self._id(key), self.place.sampled))

    def add(
        self,
        name: str,
        key: str,
        parent_key: str,
        start_us: int,
        end_us: int,
        attributes: Attributes,
        error: str = "",
    ) -> None:
        """Add an ended span; times in the clock's microseconds. key, parent_key: its own and its parent's."""
        self._ended.append(
            Span(
                name,
                self.place.trace_id,
                self._id(key),
                self._id(parent_key),
                self._unix_ns(start_us),
                self._unix_ns(max(start_us, end_us)),
                {"gen_ai.conversation.id": self._call_id, **attributes},
                "client" if attributes.get("gen_ai.operation.name") == "chat" else "internal",
                error,
            )
        )

    def add_call(self, start_us: int, end_us: int, attributes: Attributes) -> None:
        """Add the root span."""
        self._ended.append(
            Span(
                CALL,
                self.place.trace_id,
                self._id(CALL),
                self.place.span_id,
                self._unix_ns(start_us),
                self._unix_ns(end_us),
                {"gen_ai.conversation.id": self._call_id, **attributes},
                "server",
                remote_parent=bool(self.place.span_id),
            )
        )

    def empty_copy(self) -> CallSpans:
        """Return an empty collector for spans of the same call."""
        return CallSpans(self._call_id, self.place, self._offset_ns)

    def drain(self) -> list[Span]:
        """Return and clear the spans ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def _id(self, key: str) -> str:
        return span_id(self._call_id, key)

    def _unix_ns(self, at_us: int) -> int:
        return at_us * 1000 + self._offset_ns
