"""The filler of a late response: the caller and clients have it, prompts do not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings
from call_world import POLICY, CallWorld, fragment, of, said, speech
from conversation_moves import CALLS, FILLER, Caller
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Tool, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.settings import AgentTool, CallSettings

CLOCK = AgentTool(Tool("clock", "Returns the time."))
WITH_CLOCK = call_settings(agent_tools=(CLOCK,))


def filled(call: CallWorld) -> str:
    """Play a filler of one second in the response that is being generated."""
    response_id = call.response_id()
    assert call.feed(ev.ResponseLate(response_id)) == [do.Fill(response_id)]
    call.feed(ev.FragmentReady(response_id, fragment(" One moment. "), filler=True))
    call.feed(ev.SpeechReady(response_id, speech(1.0)))
    call.feed(ev.FragmentSpoken(response_id))
    return response_id


def test_prompts_leave_out_the_filler_that_the_history_has() -> None:
    call = CallWorld()
    call.say("is there parking")
    filled(call)
    call.play_out(call.make("Yes, there is."))
    (item,) = [one for one in call.conversation.history.items if getattr(one, "role", "") == "assistant"]
    assert isinstance(item, MessageItem)
    assert item.text == "One moment. Yes, there is."
    assert call.next_prompt()[:2] == [("user", "is there parking"), ("assistant", "Yes, there is.")]


def test_clients_receive_the_filler_as_text_of_the_response() -> None:
    call = CallWorld()
    call.say("is there parking")
    filled(call)
    call.play_out(call.make("Yes, there is."))
    texts = [told.text for told in of(notify.NotifyResponseText, call.commands)]
    assert texts == [" One moment. ", "Yes, there is."]


@pytest.mark.parametrize(
    ("played_s", "in_prompt"),
    [
        (0.3, []),
        (1.0, []),
        (1.9, [("assistant", "Yes, there is.")]),
        (2.9, [("assistant", "Yes, there is. It is free.")]),
    ],
)
def test_prompt_after_cut_has_only_what_was_played_behind_the_filler(
    played_s: float, in_prompt: list[tuple[str, str]]
) -> None:
    call = CallWorld(played_s=played_s)
    call.say("is there parking")
    filled(call)
    call.make("Yes, there is. ", "It is free.")
    call.feed(ev.ResponseCancelled())
    assert [message for message in said(call) if message[0] == "assistant"] == in_prompt


def test_client_truncation_within_the_answer_keeps_the_filler_out_of_prompts() -> None:
    call = CallWorld()
    call.say("is there parking")
    filled(call)
    call.play_out(call.make("Yes, there is. ", "It is free."))
    item = call.conversation.history.items[-1]
    call.feed(ev.ItemTruncated(item.item_id, 2.0))
    assert said(call)[-1] == ("assistant", "Yes, there is.")


def test_answer_stays_due_if_noise_cut_the_response_within_its_filler() -> None:
    call = CallWorld(played_s=0.9)
    call.say("is there parking")
    filled(call)
    item_id = call.begin_speaking(9.0)
    call.feed(ev.InterruptionConfirmed(10.0))
    (start,) = of(do.StartResponse, call.pause(item_id, "", 11.0))
    assert do.ReleaseResponse(start.response_id) in call.feed(ev.TurnEnded(11.0))


def test_results_are_answered_while_the_filler_is_played_and_that_answer_is_released() -> None:
    call = CallWorld(WITH_CLOCK, replace(POLICY, preemptive_attempts=2))
    call.say("what time is it")
    response_id = filled(call)
    call.feed(ev.ToolCallsReady(response_id, (ToolCall("clock_1", "clock", "{}"),)))
    call.feed(ev.ResponseWritten(response_id, ""))
    (held,) = of(do.StartResponse, call.feed(ev.ToolFinished("clock_1", "done", "It is noon.")))
    assert held.preemptive
    assert [message.role for message in held.request.messages] == ["user", "assistant", "tool"]
    call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    commands = call.play_out(response_id)
    assert of(do.ReleaseResponse, commands) == [do.ReleaseResponse(held.response_id)]
    assert not of(do.StartResponse, commands)


def test_a_filler_is_no_answer_of_a_round_without_tools() -> None:
    call = CallWorld(WITH_CLOCK, replace(POLICY, max_tool_rounds=0))
    call.say("what time is it")
    response_id = filled(call)
    call.feed(ev.ToolCallsReady(response_id, (ToolCall("clock_1", "clock", "{}"),)))
    assert do.Apologise(response_id) in call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))


def test_the_filler_precedes_text_that_has_no_audio_yet() -> None:
    call = CallWorld()
    call.say("is there parking")
    response_id = call.response_id()
    call.feed(ev.FragmentReady(response_id, fragment("Yes, there is.")))
    call.feed(ev.FragmentReady(response_id, fragment(" One moment. "), filler=True))
    for _ in range(2):
        call.feed(ev.SpeechReady(response_id, speech(1.0)))
        call.feed(ev.FragmentSpoken(response_id))
    call.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    call.play_out(response_id)
    item = call.conversation.history.items[-1]
    assert isinstance(item, MessageItem)
    assert item.text == "One moment. Yes, there is."
    assert item.prompt_text == "Yes, there is."


MOVE_NAMES = (
    "create", "respond", "late", "fragment", "sound", "spoken", "generated", "sent", "heard", "cancel",
    "truncate", "tool", "tool_ends", "written", "speak", "pause", "answer_flush", "end",
)  # fmt: skip


@given(CALLS, st.lists(st.tuples(st.sampled_from(MOVE_NAMES), st.integers(0, 9)), min_size=30, max_size=90))
def test_no_prompt_has_a_filler_whatever_happens(
    settings: CallSettings, script: list[tuple[str, int]]
) -> None:
    call = CallWorld(settings)
    caller = Caller(call)
    for move in script:
        caller.move(*move)
    prompts = [start.request.messages for start in of(do.StartResponse, call.commands)]
    assert not [message for prompt in prompts for message in prompt if FILLER in message.content]
