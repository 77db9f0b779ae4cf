"""Warm transfer: a colleague is called, hears a brief, and is connected to the caller by the provider.

The colleague's call may be served by another worker than the caller's. So both follow the stored call.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import structlog

from voiceagent.session.agent import TransferFailed
from voiceagent.session.call import CallRefused
from voiceagent.transports.telephony.control import CallControl, ControlError
from voiceagent.transports.telephony.outbound.dialer import Dialer, DialOrder
from voiceagent.transports.telephony.outbound.policies.limits import DialRefused
from voiceagent.transports.telephony.outbound.policies.progress import Joining, OutboundCall

log = structlog.get_logger()

POLL_S = 0.2
"""Interval at which the stored call of the colleague is read; reading takes about a millisecond."""
END_ATTEMPTS = 20
"""Attempts to end a colleague's call that the provider has not confirmed yet, one every second."""
_CALLER_LEFT = "the caller has left"

_ending: set[asyncio.Task[None]] = set()
"""Calls of colleagues that are being ended. They outlive the caller's call."""


@dataclass(slots=True)
class WarmTransfer:
    """Warm transfers of one caller. provider: of the caller's call. line_call: its id there."""

    dialer: Dialer
    provider: str
    line_call: str
    _placing: set[asyncio.Future[OutboundCall]] = field(default_factory=set, init=False)
    _is_over: bool = field(default=False, init=False)

    def leave(self) -> None:
        """End the calls of colleagues who are not being connected yet: the caller has left. Tools of the
        agent outlive the call, so that their end does not do it.
        """
        self._is_over = True
        for placing in self._placing:
            self._withdraw(placing)

    async def connect(self, number: str, brief: str) -> None:
        """Call and brief a colleague, and return once the provider has connected them to the caller. If
        cancelled, end the colleague's call. Raise TransferFailed.
        """
        if self._is_over:
            raise TransferFailed("failed", _CALLER_LEFT)
        order = DialOrder(number, provider=self.provider, brief=brief, joins=self.line_call)
        placing = asyncio.ensure_future(self.dialer.place(order))
        self._placing.add(placing)
        try:
            call = await asyncio.shield(placing)
            await self._follow(call.call_id)
        except (DialRefused, CallRefused, OSError) as error:
            self._withdraw(placing)
            raise TransferFailed("failed", f"{error}; the caller is still there") from error
        except asyncio.CancelledError:
            self._withdraw(placing)
            raise
        finally:
            self._placing.discard(placing)

    async def _follow(self, call_id: str) -> None:
        """Wait until the colleague is connected to the caller. Raise TransferFailed, OSError."""
        while True:
            call = await self.dialer.find(call_id)
            if call is None:
                raise TransferFailed("failed", "the colleague's call is unknown; the caller is still there")
            if call.joining is Joining.JOINED:
                return
            if call.joining is Joining.WITHDRAWN:
                raise TransferFailed("failed", _CALLER_LEFT)
            failure = call.transfer_failure
            if failure is not None:
                cause = f" ({call.cause[:200]})" if call.cause and call.status.is_final else ""
                words = failure.replace("_", " ")
                raise TransferFailed(
                    failure, f"the colleague was not connected: {words}{cause}; the caller is still there"
                )
            await asyncio.sleep(POLL_S)

    def _withdraw(self, placing: asyncio.Future[OutboundCall]) -> None:
        ending = asyncio.create_task(self._end_colleague(placing), name="end the colleague's call")
        _ending.add(ending)
        ending.add_done_callback(_ending.discard)

    async def _end_colleague(self, placing: asyncio.Future[OutboundCall]) -> None:
        """End the colleague's call, unless the calls are being joined."""
        try:
            call_id = (await placing).call_id
        except (DialRefused, CallRefused, OSError):
            return  # no call was placed
        try:
            if await self.dialer.change_transfer(call_id, OutboundCall.withdraw) is None:
                return
        except OSError as error:
            log.error("outbound_store_failed", reason=str(error))
        for _ in range(END_ATTEMPTS):
            try:
                await self.dialer.hang_up(call_id)
                return
            except (DialRefused, OSError) as error:
                log.warning("hang_up_failed", call=call_id, reason=str(error))
            await asyncio.sleep(1.0)


@dataclass(frozen=True, slots=True)
class Briefing:
    """The call of a colleague who is briefed."""

    dialer: Dialer
    call: OutboundCall

    async def reject_machine(self) -> None:
        """Record that a machine answered, so that the transfer fails for that reason."""
        try:
            await self.dialer.change_transfer(self.call.call_id, OutboundCall.reject_machine)
        except OSError as error:
            log.error("outbound_store_failed", reason=str(error))

    async def join(self, control: CallControl | None) -> bool:
        """Connect the briefed colleague to the caller. Return False if the colleague's call must be ended."""
        try:
            if await self.dialer.change_transfer(self.call.call_id, OutboundCall.start_joining) is None:
                return False
        except OSError as error:
            log.error("outbound_store_failed", reason=str(error))
            return False
        state = Joining.FAILED
        try:
            if control is not None:
                await control.join(self.call.joins)
                state = Joining.JOINED
        except ControlError as error:
            log.warning("transfer_failed", call=self.call.call_id, reason=str(error))
        try:
            await self.dialer.change_transfer(self.call.call_id, lambda call: call.with_joining(state))
        except OSError as error:  # the provider has answered all the same
            log.error("outbound_store_failed", reason=str(error))
        return state is Joining.JOINED
