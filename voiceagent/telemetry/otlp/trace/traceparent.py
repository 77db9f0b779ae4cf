"""Which trace a call is part of, and the header that says so. Pure.

W3C Trace Context, https://www.w3.org/TR/trace-context. Ids follow from the call's own, so that whoever has
that finds the trace, and nothing must be remembered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A place in a trace. trace_id, span_id: 16 and 8 bytes in hexadecimal; span_id is "" where nothing is
    above. sampled: the trace is recorded.
    """

    trace_id: str
    span_id: str = ""
    sampled: bool = True


def parse(header: str) -> TraceContext | None:
    """What a `traceparent` says; None where it is none. Later versions are read as far as this one knows."""
    match = _HEADER.fullmatch(header.strip())
    if match is None:
        return None
    version, trace_id, span_id, flags, more = match.groups()
    if version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


def header_of(context: TraceContext) -> str:
    """The `traceparent` of a span."""
    return f"00-{context.trace_id}-{context.span_id}-{int(context.sampled):02x}"


def new_trace(call_id: str, sample: float) -> TraceContext:
    """The trace of a call that is part of no other. sample: part of all calls that are recorded."""
    trace_id = blake2b(call_id.encode(), digest_size=16).hexdigest()
    return TraceContext(trace_id, "", int(trace_id[16:], 16) < sample * 2**64)


def span_id(call_id: str, name: str) -> str:
    """The id of one span of a call: always the same."""
    return blake2b(name.encode(), digest_size=8, key=call_id.encode()[:64]).hexdigest()
