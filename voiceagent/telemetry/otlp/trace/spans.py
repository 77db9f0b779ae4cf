"""Ended spans of one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from voiceagent.telemetry.otlp.trace.traceparent import TraceContext, header_of, span_id

Value = str | bool | int | float | tuple[str, ...]
Attributes = dict[str, Value]
Kind = Literal["server", "client", "internal"]

CALL = "call"
"""Name of the root span of a call."""


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
        """Add an ended span; times in microseconds of the clock. key, parent_key: keys of the span and of its
        parent.
        """
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
