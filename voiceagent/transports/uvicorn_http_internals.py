"""Timeouts for HTTP connections: uvicorn does not limit the time for a request to arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from voiceagent.transports.limits import TransportLimits

_GRACE_S = 0.01
"""Grace time after the timeout. uvloop runs timers before it reads sockets, so after a busy period a request
that arrived in time may be unread; after this time it has been read.
"""


class GuardedHttp(H11Protocol):
    """HTTP connection with a request timeout. limits: of the server. waiting: connections that wait for a
    request or for the client to read, longest wait first.
    """

    limits: ClassVar[TransportLimits]
    waiting: ClassVar[dict[H11Protocol, None]]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Start the timeout for the first request; drop the longest waiting one if there are too many."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.limits.max_connections:
            longest: Any = next(iter(self.waiting))
            longest.give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Count a client that does not read as waiting, so that it can be dropped for others."""
        super().pause_writing()
        self.waiting.setdefault(self)

    def resume_writing(self) -> None:
        """Stop counting the client as waiting."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:  # otherwise it waits for a request
            self.waiting.pop(self, None)

    def on_response_complete(self) -> None:
        """Start the timeout for the connection's next request."""
        self._wait()  # for the next request
        super().on_response_complete()

    def _should_upgrade(self) -> bool:
        """Restart the timeout for the body. uvicorn calls this once a request, after its head."""
        self._cancel_timeout()
        upgrades = super()._should_upgrade()
        if not upgrades:
            self._time(self._check_body)
        return upgrades

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP with 400. If it is in the body of a request that is being answered or has been,
        uvicorn would answer twice, which h11 raises for: close the connection instead.
        """
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        super().send_400_response(msg)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def give_up(self) -> None:
        """Drop the connection: it timed out, or its slot is needed."""
        self._cancel_timeout()
        self.transport.abort()

    def _wait(self) -> None:
        self._cancel_timeout()
        self.waiting[self] = None
        self._time(self.give_up)

    def _time(self, over: Callable[[], None]) -> None:
        """Call `over` at the timeout, unless `_cancel_timeout` is called first."""

        def look() -> None:
            self._timer = self.loop.call_later(_GRACE_S, over)

        self._timer = self.loop.call_later(self.limits.max_request_s, look)

    def _cancel_timeout(self) -> None:
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_body(self) -> None:
        """Drop the connection if the body is still incomplete."""
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete:
            self.give_up()


def guarded_http(limits: TransportLimits) -> type[GuardedHttp]:
    """Return uvicorn's HTTP protocol for `uvicorn.Config(http=...)` of one server, with limits.

    Always h11, which limits a request's head to 64 kB.
    """
    return type("GuardedHttp", (GuardedHttp,), {"limits": limits, "waiting": {}})
