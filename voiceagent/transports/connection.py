"""One connection of a call, whatever carries it: reads until the client goes, writes until it stops reading,
says goodbye. A transport brings a `Wire`, which moves messages, and a `Handler`, which knows their meaning.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import structlog

from voiceagent.session.call import ControlledCall
from voiceagent.transports.limits import MESSAGE_BYTES, USUAL_LIMITS, Allowance, TransportLimits
from voiceagent.transports.outbox import Content, Outbox

log = structlog.get_logger()

CLOSE_S = 5.0
"""How long a client may take to read what is left, and to close."""
TURN_MESSAGES = 8
"""Messages taken at once from one connection; then others get their turn."""
LONG_BYTES = 4_096
"""A longer message counts as much as all the messages of a turn."""
IDLE_LOOKS = 5
"""How many times, within the time after which a call counts as idle, it is checked whether anything has come.
"""

_Sent_contra = TypeVar("_Sent_contra", bound=str | bytes, contravariant=True)


class Disconnected(Exception):
    """The client has gone; the text says how."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a call is over.

    code: the WebSocket's close code, None where the client has gone already. hang_up: whoever carries the
    call does not know yet that it is over (phone lines).
    """

    reason: str
    code: int | None = None
    hang_up: bool = True


class Wire(Protocol[_Sent_contra]):
    """Carries whole messages. What waits raises Disconnected once the client has gone."""

    paces: bool
    """Whether a client must wait while nothing is received."""

    async def open(self) -> None:
        """Wait until messages can go."""

    async def receive(self) -> str | bytes:
        """The next message."""

    async def send(self, message: _Sent_contra) -> None:
        """Send a message; waits while the client does not read."""

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> Callable[[_Sent_contra], bool] | None:
        """From now on hand messages to `take` in the callback that reads them. Gives what sends one at once,
        or says that it would have to wait; None where there is no such path.
        """

    def close_fast_path(self) -> None:
        """Hand nothing over any more. What comes then waits for `receive`, and the client with it; where
        `paces` is False, it is lost.
        """

    async def close(self, code: int, reason: str) -> None:
        """Close it, with a WebSocket's close code where it has such things."""


class Handler(Protocol):
    """What the messages of a connection mean to its call."""

    def begin(self) -> None:
        """The client is there."""

    def take(self, message: str | bytes) -> None:
        """Take a message of the client. May end the connection; an exception ends it as a fault of ours."""

    def close(self) -> None:
        """Nothing more happens in this call."""

    async def hang_up(self) -> None:
        """Tell whoever carries the call that it is over, where closing the connection does not."""


class Connection(Generic[Content]):
    """The connection of one call. ended_code: the close code when the call breaks off. limits: how fast
    the client may send, and how long the call may be. idle_s: in which nothing at all may come.
    """

    def __init__(
        self,
        wire: Wire[Content],
        outbox: Outbox[Content],
        call: ControlledCall,
        ended_code: int = 1011,
        limits: TransportLimits = USUAL_LIMITS,
        idle_s: float | None = None,
    ) -> None:
        self._wire = wire
        self._outbox = outbox
        self._call = call
        self._ended_code = ended_code
        self._limits = limits
        self._idle_s = limits.max_idle_s if idle_s is None else idle_s
        self._allowance = Allowance(limits.max_bytes_per_s, time.monotonic())
        self.taken = 0
        """Messages and packets of sound that have come; who takes some past this connection counts them."""
        self._over: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def end(self, ending: Ending) -> None:
        """The call has to end; the first reason counts."""
        if not self._over.done():
            self._over.set_result(ending)

    def fail(self) -> None:
        """End the call for the exception that is being handled, a fault of ours."""
        log.exception("connection_failed")
        self.end(Ending("the server failed", 1011))

    async def run(self, handler: Handler, *work: Coroutine[Any, Any, Ending]) -> None:
        """Carry the call to its end, end it, and close the connection as far as the client lets us.

        work: what else goes on for as long as the call does; it may end it, too.
        """
        ending = Ending("the connection was cut off")
        try:
            ending = await self._carry(handler, work)
        finally:
            handler.close()
            # before the goodbye: nothing more is made for a caller who has gone
            await self._call.close(ending.reason)
        if ending.code is not None:
            await self._say_goodbye(handler, ending, ending.code)

    async def _carry(self, handler: Handler, work: tuple[Coroutine[Any, Any, Ending], ...]) -> Ending:
        everything: list[Coroutine[Any, Any, Ending]] = [
            self._read(handler),
            self._write(),
            _after(self._outbox.overflowed(), Ending("the client does not read", 1008)),
            self._until_ended(),
            _after(asyncio.sleep(self._limits.max_call_s), self._too_long()),
            self._until_idle(),
            *work,
        ]
        tasks = [asyncio.create_task(self._until_over(part)) for part in everything]
        try:
            return await self._over
        finally:
            self._wire.close_fast_path()
            self._outbox.send_now = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_ended(self) -> Ending:
        """An agent that hangs up has ended its call as it should; one that breaks off has not."""
        if hung_up := await self._call.ended():
            return Ending(hung_up, 1000)
        return Ending("the call ended on the server", self._ended_code)

    async def _until_over(self, work: Coroutine[Any, Any, Ending]) -> None:
        try:
            self.end(await work)
        except Disconnected as gone:
            self.end(Ending(str(gone)))
        except Exception:
            self.fail()

    def _too_long(self) -> Ending:
        return Ending(f"the call has lasted {self._limits.max_call_s:g} s (limits.max_call_s)", 1000)

    async def _until_idle(self) -> Ending:
        """Looked at now and then: what comes costs no more than being counted."""
        looks, seen = 0, self.taken
        while looks < IDLE_LOOKS:
            await asyncio.sleep(self._idle_s / IDLE_LOOKS)
            looks, seen = (looks + 1, seen) if self.taken == seen else (0, self.taken)
        return Ending(f"nothing has come from the caller for {self._idle_s:g} s", 1000)

    async def _read(self, handler: Handler) -> Ending:
        allowance = self._allowance

        def take(message: str | bytes) -> None:
            # the fast path may bring more between the end and the tasks' cancellation
            if self._over.done():
                return
            self.taken += 1
            # counted before it is parsed: what is refused costs its sender all the same
            allowance.left -= len(message) + MESSAGE_BYTES
            if allowance.left < 0 and allowance.wait_s(time.monotonic()):
                self._slow_down()
            try:
                handler.take(message)
            except Exception:  # on the fast path no task of ours is there to end by it
                self.fail()

        await self._wire.open()
        handler.begin()
        self._outbox.send_now = self._wire.open_fast_path(take)
        taken = 0
        while True:
            message = await self._wire.receive()
            if allowance.left < 0:
                await asyncio.sleep(allowance.wait_s(time.monotonic()))
                self._wire.open_fast_path(take)
            take(message)
            taken += 1
            # What has come already is received without waiting.
            if taken % TURN_MESSAGES == 0 or len(message) > LONG_BYTES:
                await asyncio.sleep(0)

    def _slow_down(self) -> None:
        """More has come than may: the client waits, or its call ends."""
        if self._wire.paces:
            self._wire.close_fast_path()
        else:
            limit = f"{self._limits.max_bytes_per_s} bytes a second (limits.max_bytes_per_s)"
            self.end(Ending(f"more came than {limit}", 1008))

    async def _write(self) -> Ending:
        while True:
            await self._wire.send(await self._outbox.next())

    async def _say_goodbye(self, handler: Handler, ending: Ending, code: int) -> None:
        try:
            if ending.hang_up:
                await handler.hang_up()
            async with asyncio.timeout(CLOSE_S):
                # what was said to the client before the end: an error, or the last sound
                while len(self._outbox):
                    await self._wire.send(await self._outbox.next())
                await self._wire.close(code, ending.reason)
        except (TimeoutError, Disconnected):
            log.info("closed_without_goodbye", reason=ending.reason)


async def _after(moment: Coroutine[Any, Any, None], ending: Ending) -> Ending:
    await moment
    return ending
