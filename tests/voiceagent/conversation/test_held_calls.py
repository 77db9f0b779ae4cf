"""Tool calls with effects that the LLM makes just after the end of the caller's turn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_world import POLICY, CallWorld, fragment, of, said, speech
from hypothesis import given
from hypothesis import strategies as st
from turn_pauses import SETTINGS, decision

from llmcore.engine import Message, Tool, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.end_of_turn.probability import ACTING_S, MIN_ACTING_S, SILENCES
from voiceagent.conversation.settings import AgentTool
from voiceagent.conversation.turn.endpointing_delay import ANSWER_S

DOUBTFUL = "A taxi at six,"
BOOK = AgentTool(Tool("book", "Books a taxi."))
RULES = replace(POLICY, language="en", preemptive_attempts=0)


def calling(tool: AgentTool = BOOK, **rules: object) -> CallWorld:
    """A call whose LLM begins to answer when the turn is over."""
    return CallWorld(replace(SETTINGS, agent="FrontDesk", agent_tools=(tool,)), replace(RULES, **rules))


def end_turn(world: CallWorld, words: str = DOUBTFUL, more_s: float = 0.0) -> list[do.Command]:
    """The caller pauses at 2.0 s and is cut off after the endpointing delay, and `more_s`."""
    silence_s = decision(world.pause(world.begin_speaking(1.0), words, 2.0)).silence_s
    return world.feed(ev.TurnEnded(2.0, silent_to_s=2.0 + silence_s + more_s))


def book(world: CallWorld) -> list[do.Command]:
    """The LLM calls the tool."""
    response_id = world.response_id()
    commands = world.feed(ev.ToolCallsReady(response_id, (ToolCall("1", "book", "{}"),)))
    return commands + world.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))


def runs(commands: list[do.Command]) -> bool:
    return bool(of(do.RunTool, commands))


def test_a_call_after_a_doubtful_end_runs_once_the_silence_has_lasted_long_enough() -> None:
    world = calling()
    (hold,) = of(do.HoldCalls, end_turn(world))
    assert hold == do.HoldCalls(world.response_id(), pytest.approx(ACTING_S))
    assert not runs(book(world))
    due = world.feed(ev.CallsDue(hold.response_id))
    assert runs(due) and of(do.FinishPlayout, due)


def test_a_response_without_tools_holds_nothing() -> None:
    world = CallWorld(SETTINGS, RULES)
    assert not of(do.HoldCalls, end_turn(world))


def test_a_call_that_comes_after_that_silence_runs_at_once() -> None:
    world = calling()
    end_turn(world)
    world.feed(ev.CallsDue(world.response_id()))
    assert runs(book(world))


def test_a_caller_who_continues_in_that_time_is_booked_nothing_but_the_whole() -> None:
    world = calling()
    response_id = of(do.HoldCalls, end_turn(world))[0].response_id
    commands = book(world)
    item_id = world.begin_speaking(3.0)
    commands += world.feed(ev.InterruptionCandidate(3.1))
    commands += world.feed(ev.CallsDue(response_id))
    commands += world.pause(item_id, "no, sorry, at seven.", 4.0)
    commands += world.feed(ev.TurnEnded(4.0))
    (start,) = of(do.StartResponse, commands)
    assert start.request.messages == (Message("user", f"{DOUBTFUL} no, sorry, at seven."),)
    assert not runs(commands)


def test_words_before_a_held_call_are_spoken_meanwhile() -> None:
    world = calling(preemptive_attempts=5)
    item_id = world.begin_speaking(1.0)
    silence_s = decision(world.pause(item_id, DOUBTFUL, 2.0)).silence_s
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("I am booking.")))
    world.feed(ev.SpeechReady(response_id, speech(1.0)))
    ended = world.feed(ev.TurnEnded(2.0, silent_to_s=2.0 + silence_s))
    called = world.feed(ev.ToolCallsReady(response_id, (ToolCall("1", "book", "{}"),)))
    called += world.feed(ev.SpeechReady(response_id, speech(1.0)))
    assert of(do.HoldCalls, ended) and len(of(do.Play, ended + called)) == 2 and not runs(called)
    assert runs(world.feed(ev.CallsDue(response_id)))


@pytest.mark.parametrize("options", [{"cancellable": True}, {"when_played": True}])
def test_a_call_that_can_be_taken_back_is_not_held(options: dict[str, bool]) -> None:
    world = calling(replace(BOOK, **options))
    end_turn(world)
    commands = book(world)
    assert of(notify.NotifyItemAdded, commands)


CERTAIN = "Please book me a taxi at six. Thank you, goodbye."


def test_after_a_certain_end_a_call_waits_for_the_least_silence_alone() -> None:
    (hold,) = of(do.HoldCalls, end_turn(calling(), CERTAIN))
    assert hold.seconds == pytest.approx(MIN_ACTING_S - SILENCES["auto"].certain_s)


def test_after_a_certain_end_and_that_silence_a_call_runs_at_once() -> None:
    world = calling()
    assert not of(do.HoldCalls, end_turn(world, CERTAIN, more_s=MIN_ACTING_S))
    assert runs(book(world))


def test_in_logs_of_earlier_builds_a_call_after_a_certain_end_runs_at_once() -> None:
    world = calling(min_acting_s=0.0)
    assert not of(do.HoldCalls, end_turn(world, CERTAIN))
    assert runs(book(world))


def test_an_end_that_waited_for_the_answer_has_waited_long_enough() -> None:
    world = calling(preemptive_attempts=5)
    assert not of(do.HoldCalls, end_turn(world, more_s=ANSWER_S))
    assert runs(book(world))


def test_an_apology_replaces_a_held_call() -> None:
    world = calling()
    response_id = of(do.HoldCalls, end_turn(world))[0].response_id
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("1", "book", "{}"),)))
    assert of(do.Apologise, world.feed(ev.ResponseFailed(response_id, "llm", "busy")))
    assert not runs(world.feed(ev.CallsDue(response_id)))
    assert said(world)[0] == ("user", DOUBTFUL)


def test_logs_of_older_builds_run_the_call_at_once() -> None:
    world = calling(hold_calls=False)
    assert not of(do.HoldCalls, end_turn(world))
    assert runs(book(world))


@given(st.sampled_from([DOUBTFUL, "I am coming by car.", "I would like to book a"]), st.floats(0.0, 1.0))
def test_no_call_with_effects_runs_before_the_silence_that_it_needs(words: str, more_s: float) -> None:
    acting = calling(preemptive_attempts=5)
    acting.pause(acting.begin_speaking(1.0), words, 2.0)
    called = acting.feed(ev.ToolCallsReady(acting.response_id(), (ToolCall("1", "book", "{}"),)))
    world = calling()
    silence_s = decision(world.pause(world.begin_speaking(1.0), words, 2.0)).silence_s
    ended = world.feed(ev.TurnEnded(2.0, silent_to_s=2.0 + silence_s + more_s))
    held_s = sum(hold.seconds for hold in of(do.HoldCalls, ended))
    assert silence_s + more_s + held_s >= decision(called).silence_s - 1e-9
