"""Messages between a sideband's connection and its call in another process.

Pure. The messages are pickled.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import NamedTuple
from urllib.parse import quote, urlencode

from voiceagent.access.access_control import CallAsked
from voiceagent.transports.relay import Accepted, Closed, FromClient
from voiceagent.validation.errors import shorten


class Refused(NamedTuple):
    """The sideband is not attached. status: of HTTP. location: the URL to connect to instead, "" for none."""

    status: int
    code: str
    message: str
    location: str = ""


LIVE_PREFIX = "live_"
"""Prefix of the ids of Live sessions; their sidebands speak the Live API."""

Relayed = Accepted | Refused | Closed | str
"""Values of a relayed sideband: first `Accepted` or `Refused`, then events, last `Closed`."""

Relay = Callable[[CallAsked, AsyncIterator[FromClient]], AsyncGenerator[Relayed, None]]
"""Attaches to a call of another process, or resumes it; the iterator yields what the client sends."""


def at_another_gateway(asked: CallAsked, url: str) -> Refused:
    """Return the refusal for a call of another gateway: a redirect if that gateway has its own URL."""
    if not url:
        message = "another gateway has this call, and no URL of its own (cluster.gateway_url_env)"
        return Refused(421, "call_at_another_gateway", message)
    is_live = asked.call_id.startswith(LIVE_PREFIX)
    if asked.after is not None:
        query = urlencode({"session_id": asked.call_id, "after": asked.after})
        path = f"{'live/sessions' if is_live else 'realtime'}?{query}"
    elif is_live:
        path = f"live/sessions/{quote(asked.call_id, safe='')}/attach"
    else:
        path = f"realtime?{urlencode({'call_id': asked.call_id})}"
    location = f"{url.replace('http', 'ws', 1)}/v1/{path}"
    return Refused(307, "call_at_another_gateway", f"another gateway has this call: {location}", location)


def not_found(call_id: str) -> Refused:
    """Return the refusal for an unknown call, or one that the caller may not control. Both look the same, so
    that callers cannot learn which calls exist.
    """
    return Refused(404, "call_not_found", f"there is no call {shorten(call_id)}")
