"""How the agent leaves a call: hangs up, or hands the caller on, once its last words have been played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from llmcore.engine import ToolCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import ToolOutputItem
from voiceagent.session.call import Call, new_id
from voiceagent.transports.telephony.agent_tools import HangUp, InvalidToolCall, Transfer, read_call
from voiceagent.transports.telephony.control import CallControl, ControlError

log = structlog.get_logger()

PLAYED_S = 3.0
"""So long after a response was sent its end counts as played, should no mark come back: no line is slower."""
TRANSFERRED_S = 10.0
"""After a transfer the provider ends the stream; if it does not, it is left."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to do when the response has been played."""

    response_id: str
    call: ToolCall
    act: HangUp | Transfer


class HangUpAndTransfer:
    """Carries out what the model asks for with its tools.

    end_call: called with the reason, and whether to hang up.
    """

    def __init__(
        self,
        call: Call,
        control: CallControl | None,
        transfers: Mapping[str, str],
        end_call: Callable[[str, bool], None],
    ) -> None:
        self._call = call
        self._control = control
        self._transfers = transfers
        self._end_call = end_call
        self._plan: _Plan | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transferring: asyncio.Task[None] | None = None

    def tools_called(self, response_id: str, calls: list[ToolCall], said: bool, interrupted: bool) -> None:
        """A response with these calls was sent: the first that can be carried out is, others are answered."""
        invalid = False
        for call in calls:
            try:
                act = read_call(call, self._transfers)
            except InvalidToolCall as error:
                self._answer(call, str(error))
                invalid = True
                continue
            if interrupted:
                self._answer(call, "not done: the caller interrupted, and is still there")
            elif self._plan is not None:
                self._answer(call, "not done: the call is being left already")
            else:
                self._plan = _Plan(response_id, call, act)
        if self._plan is not None:
            self._timer = asyncio.get_running_loop().call_later(PLAYED_S if said else 0.0, self._carry_out)
        elif invalid and not interrupted:
            self._call.handle(ev.ResponseRequested())

    def played(self, response_id: str) -> None:
        """All of the response was played."""
        if self._plan is not None and self._plan.response_id == response_id:
            self._carry_out()

    def interrupted(self) -> None:
        """The caller cut the agent short: it stays."""
        plan = self._cancel()
        if plan is not None:
            self._answer(plan.call, "not done: the caller interrupted, and is still there")

    def close(self) -> None:
        """Do nothing more."""
        self._cancel()
        if self._transferring is not None:
            self._transferring.cancel()

    def _carry_out(self) -> None:
        plan = self._cancel()
        match plan.act if plan is not None else None:
            case HangUp():
                self._end_call("the agent hung up", True)
            case Transfer() as transfer if plan is not None:
                task = self._transfer(plan.call, transfer)
                self._transferring = asyncio.create_task(task, name="transfer")

    async def _transfer(self, call: ToolCall, transfer: Transfer) -> None:
        assert self._control is not None  # without it there are no transfers
        try:
            await self._control.transfer(transfer.number)
        except ControlError as error:
            log.warning("transfer_failed", destination=transfer.destination, reason=str(error))
            self._answer(call, f"the transfer to {transfer.destination} failed; the caller is still there")
            self._call.handle(ev.ResponseRequested())
            return
        log.info("transferred", destination=transfer.destination)
        await asyncio.sleep(TRANSFERRED_S)
        self._end_call(f"the caller was transferred to {transfer.destination}", False)

    def _cancel(self) -> _Plan | None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        plan, self._plan = self._plan, None
        return plan

    def _answer(self, call: ToolCall, output: str) -> None:
        item = ToolOutputItem(new_id("item"), call.call_id, output)
        self._call.handle(ev.ItemCreated(item))
