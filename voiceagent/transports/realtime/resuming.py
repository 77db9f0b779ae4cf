"""Resuming a call after its connection was lost: the client connects again, and gets the events it missed.

Each server event has a number in its `event_id`. Sent events are kept for a while; the client names the last
one that it received, and all later ones are sent again, audio included. While there is no connection, the
agent's audio waits.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import structlog

from voiceagent.session.call import Call
from voiceagent.transports.connection import Disconnected, Wire
from voiceagent.transports.realtime.protocol.errors import RequestError

log = structlog.get_logger()

Result = TypeVar("Result")

MAX_RESUME_S = 30.0
"""Longest time that a call waits for its client."""
KEPT_S = 30.0
"""Time for which sent events are kept. A network that is silent is noticed after 15 to 20 s."""
KEPT_BYTES = 2_097_152
"""Maximum size of the kept events: half a minute of 24 kHz PCM, at 64 kB/s in base64."""
_NUMBER = re.compile(r'"event_id":"event_(\d+)"')


class NotKept(Exception):
    """The events after the named one are no longer kept. The text says so."""


@dataclass(frozen=True, slots=True)
class _Sent:
    at_s: float
    event: str


class ResumableWire:
    """A `Wire` whose connection may be replaced. resume_s: how long it waits for another one. on_lost,
    on_resumed: called when it begins to wait, and when it goes on.
    """

    paces = True

    def __init__(
        self,
        wire: Wire[str],
        resume_s: float,
        on_lost: Callable[[], None],
        on_resumed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wire = wire
        self._resume_s = resume_s
        self._on_lost = on_lost
        self._on_resumed = on_resumed
        self._clock = clock
        self._kept: deque[_Sent] = deque()
        self._kept_bytes = 0
        self._connected = asyncio.Event()
        self._connected.set()
        self._left = asyncio.Event()  # set once `_wire` is no longer used
        self._take: Callable[[str | bytes], None] | None = None
        self._send_fast: Callable[[str], bool] | None = None

    # ---- the `Wire` of the call's connection

    async def open(self) -> None:
        """See `Wire`."""
        await self._wire.open()

    async def receive(self) -> str | bytes:
        """Return the next message. Wait for another connection if this one is lost."""
        while True:
            await self._until_connected()
            left = self._left
            try:
                received = await _unless(left, self._wire.receive())
                if received is not None:
                    return received
            except Disconnected as gone:
                if left.is_set():
                    continue
                left.set()
                if gone.end_code != "connection_lost":
                    raise
                self._lose(str(gone))

    async def send(self, message: str) -> None:
        """Send an event. If the connection is lost, the client gets it with those that are sent again."""
        await self._until_connected()
        self._keep(message)
        # `receive` decides whether the connection is lost, or the client has hung up
        with suppress(Disconnected):
            await _unless(self._left, self._wire.send(message))

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> Callable[[str], bool] | None:
        """See `Wire`."""
        self._take = take
        self._send_fast = self._wire.open_fast_path(take)
        return self._send_now

    def close_fast_path(self) -> None:
        """See `Wire`."""
        self._take = None
        self._wire.close_fast_path()

    async def close(self, code: int, reason: str) -> None:
        """See `Wire`."""
        await self._wire.close(code, reason)

    def release(self) -> None:
        """End `carry`: the call is over."""
        self._left.set()

    # ---- the connections

    async def carry(self, wire: Wire[str], after: str) -> None:
        """Use this connection from now on, and return when it is no longer used.

        after: id of the last event that the client received; "" sends none again.

        Raises:
            NotKept: Events after it are no longer kept. Nothing has changed then.
        """
        missed = self._after(after) if after else []
        former = self._wire
        left = self._replace(wire)
        try:
            await wire.open()
            for event in missed:
                await wire.send(event)
        except Disconnected as gone:
            if not left.is_set():
                left.set()
                log.info("connection_lost", reason=str(gone), wait_s=self._resume_s)
            return
        if left.is_set():  # by a newer connection
            return
        if self._take is not None:
            self._send_fast = wire.open_fast_path(self._take)
        self._connected.set()
        log.info("connection_resumed", sent_again=len(missed))
        self._on_resumed()
        closing = asyncio.create_task(_close(former), name="close the former connection")
        try:
            await left.wait()
        finally:
            closing.cancel()

    def check(self, after: str) -> None:
        """Raise NotKept if events after this one are no longer kept."""
        if after:
            self._after(after)

    def _replace(self, wire: Wire[str]) -> asyncio.Event:
        """Stop using the connection in use, and use this one. Return the event that it is left."""
        before = self._wire
        if not self._left.is_set():
            self._left.set()
            self._lose("the client connected again")
        before.close_fast_path()
        self._wire, self._left = wire, asyncio.Event()
        return self._left

    def _lose(self, reason: str) -> None:
        self._connected.clear()
        self._send_fast = None
        log.info("connection_lost", reason=reason, wait_s=self._resume_s)
        self._on_lost()

    async def _until_connected(self) -> None:
        try:
            async with asyncio.timeout(self._resume_s):
                await self._connected.wait()
        except TimeoutError:
            waited = f"the connection was lost, and the client did not come back in {self._resume_s:g} s"
            raise Disconnected(waited, "connection_lost") from None

    def _send_now(self, message: str) -> bool:
        if self._send_fast is None or not self._send_fast(message):
            return False
        self._keep(message)
        return True

    def _keep(self, event: str) -> None:
        now_s = self._clock()
        self._kept.append(_Sent(now_s, event))
        self._kept_bytes += len(event)
        while len(self._kept) > 1 and (self._kept_bytes > KEPT_BYTES or self._kept[0].at_s < now_s - KEPT_S):
            self._kept_bytes -= len(self._kept.popleft().event)

    def _after(self, event_id: str) -> list[str]:
        """Return the kept events after this one. Raises NotKept."""
        number = int(event_id.removeprefix("event_")) if re.fullmatch(r"event_\d{1,18}", event_id) else None
        numbers = [int(found[1]) if (found := _NUMBER.search(sent.event)) else 0 for sent in self._kept]
        if number is None or not numbers or not numbers[0] - 1 <= number <= numbers[-1]:
            kept = f"event_{numbers[0] - 1} to event_{numbers[-1]}" if numbers else "none"
            raise NotKept(f"after is {event_id[:80]!r}; allowed: the id of the last event received, {kept}")
        return [sent.event for sent, own in zip(self._kept, numbers, strict=True) if own > number]


def wanted_resume_s(given: str | None) -> float:
    """Return how long a call waits for its client after a lost connection, 0 for not at all. Raises
    RequestError.
    """
    if given is None:
        return 0.0
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MAX_RESUME_S:
        message = f"resume_s is {given[:80]!r}; allowed: 0 to {MAX_RESUME_S:g} seconds"
        raise RequestError("invalid_value", message, "resume_s")
    return seconds


def resumable(wire: Wire[str], resume_s: float, call: Call) -> ResumableWire:
    """Return the wire of a call whose audio waits while there is no connection."""
    return ResumableWire(wire, resume_s, partial(call.pause_output, True), partial(call.pause_output, False))


async def _close(wire: Wire[str]) -> None:
    with suppress(Disconnected):
        await wire.close(1000, "the call was resumed on another connection")


async def _unless(left: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result | None:
    """Return the result of this work; None if its connection was left before, which may never end it."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(left.wait())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
