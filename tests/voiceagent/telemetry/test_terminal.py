"""The conversation on a terminal: words, tools and the wait, in place of the log lines with their figures."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import structlog
from call_world import CallWorld

from llmcore.engine import ToolCall
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.call_events import EventHandled, ResponseDone
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.latency import LatencyBudget, TurnLedger, TurnReport
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.terminal import LINE, TerminalTranscript


def report(response_id: str, spoken: bool = True) -> TurnReport:
    ledger = TurnLedger("turn_1")
    for name, at_s in (("speech_end", 1.0), ("turn_decided", 1.2), ("first_frame", 1.284)):
        if spoken or name == "first_frame":
            ledger.stamp(name, at_s)  # type: ignore[arg-type]
    return replace(ledger.report(LatencyBudget(), "completed"), response_id=response_id)


def shown(world: CallWorld, *reports: TurnReport) -> list[str]:
    """Return the lines of a call whose responses have these reports."""
    lines: list[str] = []
    printer = TerminalTranscript(lines.append)
    for step in world.steps:
        printer.on_event(EventHandled(step.event, 1.0, step.ids, step.commands))
    for one in reports:
        printer.on_event(ResponseDone(one))
    return lines


def test_lines_have_both_sides_and_the_caller_s_wait():
    world = CallWorld()
    world.say("is there a pool")
    response_id = world.make("Yes, there is.")
    assert shown(world, report(response_id)) == [
        "caller: is there a pool",
        "agent:  Yes, there is. (284 ms)",
    ]


def test_interrupted_answer_says_by_what_and_greeting_has_no_wait():
    world = CallWorld()
    world.say("is there a pool")
    response_id = world.make("Yes, there is.")
    cut = replace(report(response_id, spoken=False), outcome="interrupted", interrupted_by="stop_word")
    assert shown(world, cut)[1] == "agent:  Yes, there is. (interrupted by stop word)"


def test_typed_question_is_the_caller_s():
    world = CallWorld()
    world.feed(ev.ItemCreated(MessageItem("item_typed", "user", "is there a pool")))
    assert shown(world) == ["caller: is there a pool"]


def test_tool_has_arguments_and_result():
    call = ToolCall("call_1", "find", '{"what": "pool"}')
    lines: list[str] = []
    printer = TerminalTranscript(lines.append)
    printer.on_event(EventHandled(ev.TurnDue(1.0), 1.0, (), (do.RunTool(call),)))
    printer.on_event(EventHandled(ev.ToolFinished("call_1", "failed", "no such pool"), 1.0, (), ()))
    assert lines == ['tool:   find({"what": "pool"}) -> no such pool (failed)']


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.mark.parametrize(("level", "figures"), [("info", 0), ("debug", 1)])
def test_figures_appear_at_level_debug_only(stream: io.StringIO, level: str, figures: int):
    configure_log("console", level, stream, conversation=True)
    log = structlog.get_logger()
    log.info("turn", total_ms=284)
    log.info(LINE, text="agent:  Yes.\x1b[2J\nforged")
    *turns, line = stream.getvalue().splitlines()
    assert len(turns) == figures
    assert line.endswith("agent:  Yes.\\x1b[2J forged")
    assert "[info" not in line
