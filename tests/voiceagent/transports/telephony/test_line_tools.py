"""Ways in which the agent leaves a call: it hangs up, or transfers the caller."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from voiceagent.session.agent import OfferedTool, ToolFailed
from voiceagent.telemetry.log import Personal
from voiceagent.transports.telephony import line_tools
from voiceagent.transports.telephony.control import ControlError
from voiceagent.transports.telephony.line_tools import LineTools

TRANSFERS = {"desk": "+1555"}


class Control:
    """A provider that records its requests; `failure` is its answer."""

    transfers = True

    def __init__(self, failure: str = "") -> None:
        self.failure = failure
        self.numbers: list[str] = []

    async def hang_up(self) -> None: ...

    async def send_digits(self, digits: str) -> bool:
        return False

    async def transfer(self, number: str) -> None:
        self.numbers.append(number)
        if self.failure:
            raise ControlError(self.failure)


def prepared(control: Control | None) -> tuple[dict[str, OfferedTool], list[tuple[str, bool]]]:
    left: list[tuple[str, bool]] = []
    line = LineTools(control, TRANSFERS, lambda reason, hang_up: left.append((reason, hang_up)))
    return {tool.tool.name: tool for tool in line.offered()}, left


def test_a_line_without_control_offers_to_hang_up_alone() -> None:
    tools, _ = prepared(None)
    assert list(tools) == ["hang_up"]


def test_both_wait_until_the_last_words_were_played() -> None:
    tools, _ = prepared(Control())
    assert [tool.tool.when_played for tool in tools.values()] == [True, True]


async def test_hanging_up_ends_the_call() -> None:
    tools, left = prepared(Control())
    await tools["hang_up"].run("{}")
    assert left == [("the agent hung up", True)]


async def test_a_caller_is_handed_on_and_the_provider_ends_the_stream() -> None:
    control = Control()
    tools, left = prepared(control)
    running = asyncio.ensure_future(tools["transfer_call"].run('{"destination": "desk"}'))
    await asyncio.sleep(0)
    assert control.numbers == ["+1555"]
    assert left == []
    running.cancel()


async def test_the_agents_code_hands_a_caller_on_to_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_tools, "TRANSFERRED_S", 0.0)
    control = Control()
    await LineTools(control, {}, lambda *_: None).transfer(number="+1666")
    assert control.numbers == ["+1666"]


@pytest.mark.parametrize("failure", ["", "+1666 is busy"])
async def test_a_number_that_a_caller_is_connected_to_is_personal_in_the_log(
    failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_tools, "TRANSFERRED_S", 0.0)
    left: list[str] = []
    line = LineTools(Control(failure), {}, lambda reason, hang_up: left.append(reason))
    with capture_logs() as logs, suppress(ToolFailed):
        await line.transfer(number="+1666")
    assert [line["event"] for line in logs] == ["transfer_failed" if failure else "transferred"]
    assert isinstance(logs[0]["destination"], Personal)
    assert "1666" not in str([dict(logs[0]), left])


async def test_a_line_without_control_hands_nobody_on() -> None:
    with pytest.raises(ToolFailed, match="this line cannot transfer calls; the caller is still there"):
        await LineTools(None, TRANSFERS, lambda *_: None).transfer("desk")


async def test_a_stream_that_stays_after_a_transfer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_tools, "TRANSFERRED_S", 0.0)
    tools, left = prepared(Control())
    result = await tools["transfer_call"].run('{"destination": "desk"}')
    assert left == [("the caller was transferred to desk", False)]
    assert not result.reply


async def test_the_model_learns_of_a_transfer_that_fails() -> None:
    tools, left = prepared(Control("busy"))
    with pytest.raises(ToolFailed, match="the transfer to desk failed; the caller is still there"):
        await tools["transfer_call"].run('{"destination": "desk"}')
    assert left == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{", "the arguments of transfer_call are not JSON"),
        ("[]", "destination is 'None'; allowed: desk"),
        ('{"destination": "moon"}', "destination is 'moon'; allowed: desk"),
    ],
)
async def test_wrong_arguments_are_answered_with_what_is_allowed(arguments: str, told: str) -> None:
    tools, _ = prepared(Control())
    with pytest.raises(ToolFailed, match=told):
        await tools["transfer_call"].run(arguments)
