"""HTTP connections that may not wait for ever: uvicorn has no limit to the time in which a request must have
come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from voiceagent.transports.limits import TransportLimits

_LOOK_S = 0.01
"""uvloop runs what is due before it reads from sockets: where the loop was busy, a request that came in time
may lie there unread. So long behind its time it has been read.
"""


class GuardedHttp(H11Protocol):
    """limits: those of its server. waiting: for a request, or for the client to read its answer, those that
    have waited longest first.
    """

    limits: ClassVar[TransportLimits]
    waiting: ClassVar[dict[H11Protocol, None]]
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """A client has connected: its request must come in time."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.limits.max_connections:
            longest: Any = next(iter(self.waiting))
            longest.give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._settle()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read: it waits, as one that sends nothing, and makes room for others."""
        super().pause_writing()
        self.waiting.setdefault(self)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:  # else it waits for a request
            self.waiting.pop(self, None)

    def on_response_complete(self) -> None:
        """A response is out; the connection may bring another request."""
        self._wait()  # for the next request
        super().on_response_complete()

    def _should_upgrade(self) -> bool:
        """Asked once a request, when its head is there."""
        self._settle()
        upgrades = super()._should_upgrade()
        if not upgrades:
            self._time(self._end_half)
        return upgrades

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP. Where that is in the body of a request that is being answered, or has been,
        uvicorn would answer twice, which h11 raises for: the connection ends there."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        super().send_400_response(msg)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def give_up(self) -> None:
        """Nothing came in time, or others need the place."""
        self._settle()
        self.transport.abort()

    def _wait(self) -> None:
        self._settle()
        self.waiting[self] = None
        self._time(self.give_up)

    def _time(self, over: Callable[[], None]) -> None:
        """Call this where nothing settles it in time."""

        def look() -> None:
            self._timer = self.loop.call_later(_LOOK_S, over)

        self._timer = self.loop.call_later(self.limits.max_request_s, look)

    def _settle(self) -> None:
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_half(self) -> None:
        """The body has had its time."""
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete:
            self.give_up()


def guarded_http(limits: TransportLimits) -> type[GuardedHttp]:
    """uvicorn's HTTP protocol, for `uvicorn.Config(http=...)` of one server, under limits.

    h11 whatever is installed: it holds the head of a request to 64 kB.
    """
    return type("GuardedHttp", (GuardedHttp,), {"limits": limits, "waiting": {}})
