"""Resuming a call after its connection was lost: the client connects again, and gets the events it missed.

Each server event has a number in its `event_id`. Sent events are kept for a while; the client names the last
one that it received, and all later ones are sent again, audio included. While there is no connection, the
agent's audio waits.
"""

from __future__ import annotations

import math
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog

from voiceagent.session.call import Call
from voiceagent.transports.connection import Wire
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.replaceable_wire import ReplaceableWire

log = structlog.get_logger()

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


class ResumableWire(ReplaceableWire[str]):
    """A `Wire` whose connection the client may replace. Arguments as for `ReplaceableWire`."""

    def __init__(
        self,
        wire: Wire[str],
        resume_s: float,
        on_lost: Callable[[], None],
        on_resumed: Callable[[], None],
    ) -> None:
        super().__init__(wire, resume_s, on_lost, on_resumed)
        self._kept: deque[_Sent] = deque()
        self._kept_bytes = 0

    async def send(self, message: str) -> None:
        """Send an event. If the connection is lost, the client gets it with those that are sent again."""
        await self._until_connected()
        self._keep(message)
        await self._send_on_wire(message)

    async def carry(self, wire: Wire[str], after: str) -> None:
        """Use this connection from now on, and return when it is no longer used.

        after: id of the last event that the client received; "" sends none again.

        Raises:
            NotKept: Events after it are no longer kept. Nothing has changed then.
        """
        missed = self._after(after) if after else []

        async def begin() -> Callable[[], None]:
            await wire.open()
            for event in missed:
                await wire.send(event)
            return partial(log.info, "connection_resumed", sent_again=len(missed))

        await self._use(wire, begin)

    def check(self, after: str) -> None:
        """Raise NotKept if events after this one are no longer kept."""
        if after:
            self._after(after)

    def _send_now(self, message: str) -> bool:
        if not super()._send_now(message):
            return False
        self._keep(message)
        return True

    def _keep(self, event: str) -> None:
        now_s = time.monotonic()
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
    """Return how long a call waits for a lost client, 0 for not at all. Raises RequestError."""
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
