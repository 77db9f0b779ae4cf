"""What a span is here, and the spans of one call as they end. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from voiceagent.telemetry.otlp.trace.traceparent import TraceContext, header_of, span_id

Value = str | bool | int | float | tuple[str, ...]
Attributes = dict[str, Value]
Kind = Literal["server", "client", "internal"]

CALL = "call"
"""The name of the span above all others of a call."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span that is over. Ids as in `TraceContext`; times in Unix nanoseconds.

    error: its kind, "" for none. remote_parent: what is above it is the caller's.
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
    """Makes the spans of one call. place: in the trace of its caller, or a new one. offset_ns: from the clock
    to Unix time.

    What a span is of, a turn, a response, a tool's call, tells its id: nothing must be remembered for what
    comes below it.
    """

    def __init__(self, call_id: str, place: TraceContext, offset_ns: int) -> None:
        self._call_id = call_id
        self._offset_ns = offset_ns
        self._ended: list[Span] = []
        self.place = place

    def traceparent(self, of: str) -> str:
        """What is handed on to whoever makes spans below this one."""
        return header_of(TraceContext(self.place.trace_id, self._id(of), self.place.sampled))

    def add(
        self, name: str, of: str, under: str, start_us: int, end_us: int, told: Attributes, error: str = ""
    ) -> None:
        """A span has ended; times in microseconds of the clock. under: what the span above it is of."""
        self._ended.append(
            Span(
                name,
                self.place.trace_id,
                self._id(of),
                self._id(under),
                self._unix_ns(start_us),
                self._unix_ns(max(start_us, end_us)),
                {"gen_ai.conversation.id": self._call_id, **told},
                "client" if told.get("gen_ai.operation.name") == "chat" else "internal",
                error,
            )
        )

    def add_call(self, start_us: int, end_us: int, told: Attributes) -> None:
        """The call itself, above all others, has ended."""
        self._ended.append(
            Span(
                CALL,
                self.place.trace_id,
                self._id(CALL),
                self.place.span_id,
                self._unix_ns(start_us),
                self._unix_ns(end_us),
                {"gen_ai.conversation.id": self._call_id, **told},
                "server",
                remote_parent=bool(self.place.span_id),
            )
        )

    def like(self) -> CallSpans:
        """Makes spans of the same call, apart from these."""
        return CallSpans(self._call_id, self.place, self._offset_ns)

    def take(self) -> list[Span]:
        """Take the spans that have ended since the last time."""
        ended, self._ended = self._ended, []
        return ended

    def _id(self, of: str) -> str:
        return span_id(self._call_id, of)

    def _unix_ns(self, at_us: int) -> int:
        return at_us * 1000 + self._offset_ns
