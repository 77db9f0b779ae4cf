"""Connection of one call on any transport: reads until the client disconnects, writes until it stops reading,
closes gracefully. A transport provides a `Wire`, which moves messages, and a `Handler`, which interprets
them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import structlog

from voiceagent.conversation.causes import CallEndCode
from voiceagent.session.call import ControlledCall
from voiceagent.transports.limits import MESSAGE_BYTES, USUAL_LIMITS, Allowance, TransportLimits
from voiceagent.transports.outbox import Content, Outbox

log = structlog.get_logger()

CLOSE_S = 5.0
"""Maximum time for a client to read the remaining messages and close."""
TURN_MESSAGES = 8
"""Maximum number of messages read from one connection before others are read."""
LONG_BYTES = 4_096
"""A message longer than this counts as TURN_MESSAGES."""
IDLE_CHECKS = 5
"""Number of checks for new messages within the idle time."""

_Sent_contra = TypeVar("_Sent_contra", bound=str | bytes, contravariant=True)


class Disconnected(Exception):
    """The client has disconnected; the text is the reason."""

    def __init__(self, reason: str, end_code: CallEndCode = "caller_hung_up") -> None:
        super().__init__(reason)
        self.end_code = end_code


@dataclass(frozen=True, slots=True)
class Ending:
    """Reason for the end of a call.

    end_code: the reason, for programs. code: the WebSocket's close code, None if the client has disconnected.
    hang_up: the telephony provider must still be asked to hang up.
    """

    reason: str
    end_code: CallEndCode
    code: int | None = None
    hang_up: bool = True


class Wire(Protocol[_Sent_contra]):
    """A transport's message stream. Waiting methods raise Disconnected once the client has disconnected."""

    paces: bool
    """True if not reading slows the client down, as with TCP."""

    async def open(self) -> None:
        """Wait until messages can be sent."""

    async def receive(self) -> str | bytes:
        """Return the next message."""

    async def send(self, message: _Sent_contra) -> None:
        """Send a message. Waits while the client does not read."""

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> Callable[[_Sent_contra], bool] | None:
        """Pass messages to `take` in the callback that reads them. Return a function that sends a message
        immediately, or returns False if it would have to wait; None if there is no fast path.
        """

    def close_fast_path(self) -> None:
        """Stop passing messages to `take`. Later messages wait for `receive`, which slows the client down; if
        `paces` is False, they are lost.
        """

    async def close(self, code: int, reason: str) -> None:
        """Close the stream, with a WebSocket's close code if the transport has such codes."""


class Handler(Protocol):
    """Interpreter of a connection's messages for its call."""

    def begin(self) -> None:
        """Begin: the client is connected."""

    def take(self, message: str | bytes) -> None:
        """Handle a message. May end the connection; an exception ends it as a server error."""

    def close(self) -> None:
        """Release timers and other resources: the call has ended."""

    async def hang_up(self, ending: Ending) -> None:
        """Send last messages. Ask the telephony provider to hang up where closing is not enough."""


class Connection(Generic[Content]):
    """Connection of one call. ended_code: close code if the call breaks off. limits: of the client's rate and
    of the call's length. idle_s: maximum time without any message.
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
        self.received = 0
        """Messages and audio packets received. Code that bypasses the connection must count packets here."""
        self._over: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def end(self, ending: Ending) -> None:
        """End the call. Only the first ending counts."""
        if not self._over.done():
            self._over.set_result(ending)

    def fail(self) -> None:
        """End the call because of the exception being handled, a server error."""
        log.exception("connection_failed")
        self.end(Ending("the server failed", "server_error", 1011))

    async def run(self, handler: Handler, *work: Coroutine[Any, Any, Ending]) -> None:
        """Run the call to its end, end it, and close the connection gracefully if the client still reads.

        work: further tasks of the call, cancelled at its end; their results end it, too.
        """
        ending = Ending("the connection was cut off", "server_shutdown")
        try:
            ending = await self._carry(handler, work)
        finally:
            handler.close()
            # before closing the wire: produce nothing for a caller who has left
            await self._call.close(ending.reason, ending.end_code)
        if ending.code is not None:
            await self._say_goodbye(handler, ending, ending.code)

    async def _carry(self, handler: Handler, work: tuple[Coroutine[Any, Any, Ending], ...]) -> Ending:
        everything: list[Coroutine[Any, Any, Ending]] = [
            self._read(handler),
            self._write(),
            _after(self._outbox.overflowed(), Ending("the client does not read", "client_too_slow", 1008)),
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
        """Wait for the end of the call: normal if the agent hangs up, an error otherwise."""
        if hung_up := await self._call.ended():
            return Ending(hung_up, "agent_hung_up", 1000)
        return Ending("the call ended on the server", "server_error", self._ended_code)

    async def _until_over(self, work: Coroutine[Any, Any, Ending]) -> None:
        try:
            self.end(await work)
        except Disconnected as gone:
            self.end(Ending(str(gone), gone.end_code))
        except Exception:
            self.fail()

    def _too_long(self) -> Ending:
        lasted = f"the call has lasted {self._limits.max_call_s:g} s (limits.max_call_s)"
        return Ending(lasted, "max_duration", 1000)

    async def _until_idle(self) -> Ending:
        """Poll for inactivity, so that a message costs only a counter."""
        checks, seen = 0, self.received
        while checks < IDLE_CHECKS:
            await asyncio.sleep(self._idle_s / IDLE_CHECKS)
            checks, seen = (checks + 1, seen) if self.received == seen else (0, self.received)
        return Ending(f"nothing has come from the caller for {self._idle_s:g} s", "idle", 1000)

    async def _read(self, handler: Handler) -> Ending:
        allowance = self._allowance

        def take(message: str | bytes) -> None:
            # the fast path may deliver more before the tasks are cancelled
            if self._over.done():
                return
            self.received += 1
            # before parsing: refused messages also count against the sender's rate
            allowance.left -= len(message) + MESSAGE_BYTES
            if allowance.left < 0 and allowance.wait_s(time.monotonic()):
                self._slow_down()
            try:
                handler.take(message)
            except Exception:  # on the fast path no task of this connection would catch it
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
            # Queued messages are received without suspending, so other tasks would starve.
            if taken % TURN_MESSAGES == 0 or len(message) > LONG_BYTES:
                await asyncio.sleep(0)

    def _slow_down(self) -> None:
        """Slow a client down that exceeds its rate, or end its call if the wire cannot."""
        if self._wire.paces:
            self._wire.close_fast_path()
        else:
            limit = f"{self._limits.max_bytes_per_s} bytes a second"
            self.end(Ending(f"more came than {limit}", "too_much_input", 1008))

    async def _write(self) -> Ending:
        while True:
            await self._wire.send(await self._outbox.next())

    async def _say_goodbye(self, handler: Handler, ending: Ending, code: int) -> None:
        try:
            if ending.hang_up:
                await handler.hang_up(ending)
            async with asyncio.timeout(CLOSE_S):
                # messages sent before the end: an error, or the last audio
                while len(self._outbox):
                    await self._wire.send(await self._outbox.next())
                await self._wire.close(code, ending.reason)
        except (TimeoutError, Disconnected):
            log.info("close_handshake_timeout", reason=ending.reason)


async def _after(moment: Coroutine[Any, Any, None], ending: Ending) -> Ending:
    await moment
    return ending
