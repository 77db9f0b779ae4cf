"""Trace identity of a call and the `traceparent` header (W3C Trace Context,
https://www.w3.org/TR/trace-context).

Ids are derived from the call id, so that a call's trace can be found without a lookup.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


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
