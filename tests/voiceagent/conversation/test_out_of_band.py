"""Responses that a client requests outside the conversation."""

from __future__ import annotations

import pytest
from call_settings import call_settings
from call_world import CallWorld, fragment, of, said

from llmcore.engine import Message, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.out_of_band import MAX_OUT_OF_BAND

PROMPT = (Message("user", "Is the caller angry?"),)
CLASSIFY = ev.ResponseRequested(messages=PROMPT, modality="text", in_conversation=False)
USAGE = Usage(10, 0, 5)


def begin(world: CallWorld, wanted: ev.ResponseRequested = CLASSIFY) -> str:
    """One is asked for, and begins."""
    (start,) = of(do.StartResponse, world.feed(wanted))
    assert start.out_of_band
    return str(start.response_id)


def write(world: CallWorld, response_id: str, text: str) -> list[do.Command]:
    return [
        *world.feed(ev.FragmentReady(response_id, fragment(text))),
        *world.feed(ev.ResponseGenerated(response_id, "stop", USAGE)),
    ]


def test_it_runs_while_the_agent_answers_and_neither_ends_the_other() -> None:
    world = CallWorld()
    world.say("is there a pool")
    answer = world.response_id()
    aside = begin(world)
    commands = write(world, aside, "Calm.")
    (told,) = of(notify.NotifyResponseText, commands)
    (ended,) = of(notify.NotifyResponseEnded, commands)
    assert (told.response_id, told.text, told.previous_id) == (aside, "Calm.", None)
    assert (ended.response_id, ended.status, ended.usage) == (aside, "completed", USAGE)
    world.play_out(world.make("Yes, there is."))
    assert world.ended == [aside, answer]
    assert said(world) == [("user", "is there a pool"), ("assistant", "Yes, there is.")]


def test_an_answer_begins_and_is_played_while_it_is_made() -> None:
    world = CallWorld()
    aside = begin(world)
    world.say("is there a pool")
    world.play_out(world.make("Yes, there is."))
    write(world, aside, "Calm.")
    assert world.ended[-1] == aside


def test_it_is_begun_while_the_caller_speaks_and_his_voice_does_not_cut_it() -> None:
    world = CallWorld()
    item_id = world.begin_speaking()
    aside = begin(world)
    world.feed(ev.InterruptionConfirmed(1.5))
    commands = world.pause(item_id, "stop") + world.feed(ev.TurnEnded(2.0))
    assert do.CancelResponse(aside) not in commands
    assert of(notify.NotifyResponseEnded, write(world, aside, "Calm."))[0].status == "completed"


def test_a_voice_over_the_agent_cuts_the_answer_alone() -> None:
    world = CallWorld()
    world.say("is there a pool")
    answer = world.response_id()
    world.feed(ev.FragmentReady(answer, fragment("Yes.")))
    aside = begin(world)
    item_id = world.begin_speaking(4.0)
    commands = world.pause(item_id, "no wait stop", 5.0)
    assert [ended.response_id for ended in of(notify.NotifyResponseEnded, world.commands)] == [answer]
    assert do.CancelResponse(aside) not in commands


def test_it_is_cancelled_by_its_id_and_the_conversations_is_cancelled_without_one() -> None:
    world = CallWorld()
    world.say("is there a pool")
    answer = world.response_id()
    aside, other = begin(world), begin(world)
    commands = world.feed(ev.ResponseCancelled(aside))
    (ended,) = of(notify.NotifyResponseEnded, commands)
    assert (ended.response_id, ended.status, ended.reason) == (aside, "cancelled", "client_cancelled")
    assert do.CancelResponse(aside) in commands
    world.feed(ev.ResponseCancelled())
    assert world.ended == [aside, answer]
    (error,) = of(notify.NotifyError, world.feed(ev.ResponseCancelled()))
    assert error.code == "response_cancel_not_active"
    assert other in world.working


def test_so_many_run_at_once_and_one_more_is_refused() -> None:
    world = CallWorld()
    first, *_ = [begin(world) for _ in range(MAX_OUT_OF_BAND)]
    (error,) = world.feed(CLASSIFY)
    assert (error.code, str(MAX_OUT_OF_BAND) in error.message) == (
        "conversation_already_has_active_response",
        True,
    )
    write(world, first, "Calm.")
    begin(world)


def test_one_with_the_conversation_for_its_prompt_waits_for_the_callers_words() -> None:
    world = CallWorld(call_settings(turn_detection=None))
    item_id = world.begin_speaking(0.0)
    world.feed(ev.InputCommitted(1.5))
    wanted = ev.ResponseRequested(modality="text", in_conversation=False)
    assert not of(do.StartResponse, world.feed(wanted))
    (start,) = of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "is there parking", "", True)))
    assert start.request.messages == (Message("user", "is there parking"),)


def test_one_that_fails_is_over_and_no_apology_is_heard() -> None:
    world = CallWorld()
    world.say("is there a pool")
    aside = begin(world)
    commands = world.feed(ev.ResponseFailed(aside, "llm", "it is gone"))
    (ended,) = of(notify.NotifyResponseEnded, commands)
    assert (ended.response_id, ended.status) == (aside, "failed")
    assert not of(do.Apologise, commands)


def test_a_function_that_it_calls_is_told_to_its_client_and_is_no_item() -> None:
    world = CallWorld()
    aside = begin(world)
    (call,) = of(
        notify.NotifyToolCall, world.feed(ev.ToolCallsReady(aside, (ToolCall("c1", "report", "{}"),)))
    )
    assert (call.response_id, call.call.name) == (aside, "report")
    assert not world.conversation.history.items


@pytest.mark.parametrize("modality", ["audio", None])
def test_a_spoken_one_takes_the_conversations_voice_and_waits_for_it(modality: str | None) -> None:
    world = CallWorld()
    world.say("is there a pool")
    (error,) = world.feed(ev.ResponseRequested(in_conversation=False, modality=modality))
    assert error.code == "conversation_already_has_active_response"


def test_a_caller_who_is_silent_meanwhile_is_asked_again() -> None:
    world = CallWorld()
    begin(world)
    assert world.conversation.idle
