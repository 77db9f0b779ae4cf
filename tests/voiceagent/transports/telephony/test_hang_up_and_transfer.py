"""How the agent leaves a call: only when its last words were heard, and not if the caller goes on."""

from __future__ import annotations

import asyncio

from fake_client import FakeClient
from scripted_call import ScriptedCall

from llmcore.engine import ToolCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import ToolOutputItem
from voiceagent.transports.telephony.control import ControlError
from voiceagent.transports.telephony.hang_up_and_transfer import Departure

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


def leaving(control: Control) -> tuple[Departure, ScriptedCall, list[tuple[str, bool]]]:
    call, left = ScriptedCall("call_1", FakeClient(), ""), []
    return (
        Departure(call, control, TRANSFERS, lambda reason, hang_up: left.append((reason, hang_up))),
        call,
        left,
    )


def answers(call: ScriptedCall) -> list[str]:
    items = [request.item for request in call.requests if isinstance(request, ev.ItemCreated)]
    return [item.output for item in items if isinstance(item, ToolOutputItem)]


async def test_a_caller_is_handed_on_when_the_announcement_was_heard():
    control = Control()
    departure, _, left = leaving(control)
    departure.asked("r1", [TO_DESK], said=True, interrupted=False)
    departure.heard("r0")
    await asyncio.sleep(0)
    assert control.numbers == []
    departure.heard("r1")
    await asyncio.sleep(0)
    assert control.numbers == ["+1555"]
    assert left == []  # the provider ends the stream
    departure.close()


async def test_a_transfer_that_fails_is_told_to_the_model_which_goes_on():
    departure, call, left = leaving(Control("busy"))
    departure.asked("r1", [TO_DESK], said=True, interrupted=False)
    departure.heard("r1")
    await asyncio.wait_for(call.until(lambda call: len(call.requests) == 2), 20)
    assert answers(call) == ["the transfer to desk failed; the caller is still there"]
    assert isinstance(call.requests[-1], ev.ResponseRequested)
    assert left == []


async def test_an_agent_that_says_nothing_hangs_up_at_once():
    departure, _, left = leaving(Control())
    departure.asked("r1", [HANG_UP], said=False, interrupted=False)
    while not left:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    assert left == [("the agent hung up", True)]


async def test_of_two_wishes_the_first_counts():
    control = Control()
    departure, call, left = leaving(control)
    departure.asked("r1", [TO_DESK, HANG_UP], said=True, interrupted=False)
    departure.heard("r1")
    await asyncio.sleep(0)
    assert control.numbers == ["+1555"]
    assert left == []
    assert answers(call) == ["not done: the call is being left already"]
    departure.close()


async def test_wrong_arguments_are_answered_with_what_is_allowed():
    departure, call, _ = leaving(Control())
    for arguments in ("{", "[]", '{"destination": "moon"}'):
        departure.asked("r1", [ToolCall("c", "transfer_call", arguments)], said=False, interrupted=False)
    not_json, missing, unknown = answers(call)
    assert not_json.startswith("the arguments of transfer_call are not JSON")
    assert missing == "destination is None; allowed: desk"
    assert unknown == "destination is 'moon'; allowed: desk"
