"""How the agent leaves a call: only when its last words were played, and not if the caller goes on."""

from __future__ import annotations

import asyncio

from fake_client import FakeClient
from scripted_call import ScriptedCall

from llmcore.engine import ToolCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import ToolOutputItem
from voiceagent.transports.telephony.control import ControlError
from voiceagent.transports.telephony.hang_up_and_transfer import HangUpAndTransfer

TRANSFERS = {"desk": "+1555"}
TO_DESK = ToolCall("call_1", "transfer_call", '{"destination": "desk"}')
HANG_UP = ToolCall("call_2", "hang_up", "{}")


class Control:
    """A provider that keeps what it is asked; `failure` is what it answers."""

    transfers = True

    def __init__(self, failure: str = "") -> None:
        self.failure = failure
        self.numbers: list[str] = []

    async def hang_up(self) -> None: ...

    async def transfer(self, number: str) -> None:
        self.numbers.append(number)
        if self.failure:
            raise ControlError(self.failure)


def prepared(control: Control) -> tuple[HangUpAndTransfer, ScriptedCall, list[tuple[str, bool]]]:
    call, left = ScriptedCall("call_1", FakeClient(), ""), []
    return (
        HangUpAndTransfer(call, control, TRANSFERS, lambda reason, hang_up: left.append((reason, hang_up))),
        call,
        left,
    )


def answers(call: ScriptedCall) -> list[str]:
    items = [request.item for request in call.requests if isinstance(request, ev.ItemCreated)]
    return [item.output for item in items if isinstance(item, ToolOutputItem)]


async def test_a_caller_is_handed_on_when_the_announcement_was_played():
    control = Control()
    actions, _, left = prepared(control)
    actions.tools_called("r1", [TO_DESK], said=True, interrupted=False)
    actions.played("r0")
    await asyncio.sleep(0)
    assert control.numbers == []
    actions.played("r1")
    await asyncio.sleep(0)
    assert control.numbers == ["+1555"]
    assert left == []  # the provider ends the stream
    actions.close()


async def test_the_model_learns_of_a_transfer_that_fails_and_goes_on():
    actions, call, left = prepared(Control("busy"))
    actions.tools_called("r1", [TO_DESK], said=True, interrupted=False)
    actions.played("r1")
    await asyncio.wait_for(call.until(lambda call: len(call.requests) == 2), 20)
    assert answers(call) == ["the transfer to desk failed; the caller is still there"]
    assert isinstance(call.requests[-1], ev.ResponseRequested)
    assert left == []


async def test_an_agent_that_says_nothing_hangs_up_at_once():
    actions, _, left = prepared(Control())
    actions.tools_called("r1", [HANG_UP], said=False, interrupted=False)
    while not left:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    assert left == [("the agent hung up", True)]


async def test_of_two_wishes_the_first_counts():
    control = Control()
    actions, call, left = prepared(control)
    actions.tools_called("r1", [TO_DESK, HANG_UP], said=True, interrupted=False)
    actions.played("r1")
    await asyncio.sleep(0)
    assert control.numbers == ["+1555"]
    assert left == []
    assert answers(call) == ["not done: the call is being left already"]
    actions.close()


async def test_wrong_arguments_are_answered_with_what_is_allowed():
    actions, call, _ = prepared(Control())
    for arguments in ("{", "[]", '{"destination": "moon"}'):
        actions.tools_called("r1", [ToolCall("c", "transfer_call", arguments)], said=False, interrupted=False)
    not_json, missing, unknown = answers(call)
    assert not_json.startswith("the arguments of transfer_call are not JSON")
    assert missing == "destination is None; allowed: desk"
    assert unknown == "destination is 'moon'; allowed: desk"
