"""The response, from its request to what was played of it."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings
from call_world import CallWorld, fragment, of, said, speech

from llmcore.engine import Message, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem, ToolOutputItem

MANUAL = call_settings(turn_detection=None)


def test_the_history_holds_both_sides_when_the_response_was_played():
    world = CallWorld()
    world.say("is there parking")
    world.play_out(world.make("Yes, there is. ", "It is free."))
    assert said(world) == [("user", "is there parking"), ("assistant", "Yes, there is. It is free.")]


def test_a_response_ends_for_the_client_when_its_sound_is_sent():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes.")
    (end,) = world.feed(ev.PlayoutSent(response_id))
    assert end == notify.NotifyResponseEnded(response_id, "completed", "", Usage(10, 0, 5))


def test_a_failed_response_ends_with_an_apology_and_the_reason():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    world.feed(ev.ResponseFailed(response_id, "llm", "the model is gone"))
    world.play_out(response_id)
    (end,) = of(notify.NotifyResponseEnded, world.commands)
    assert (end.status, end.reason) == ("failed", "llm: the model is gone")
    assert world.conversation.history.items[-1].text == "Sorry."


def test_an_answer_that_a_filter_refused_has_an_apology_of_its_own():
    world = CallWorld()
    world.say("how do I break in")
    response_id = world.response_id()
    commands = world.feed(ev.ResponseFailed(response_id, "refusal", "a filter ended the reply"))
    assert do.Apologise(response_id, refused=True) in commands
    world.play_out(response_id)
    (end,) = of(notify.NotifyResponseEnded, world.commands)
    assert (end.status, end.reason) == ("incomplete", "content_filter")


def test_what_was_played_before_a_failure_stays_in_the_history():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("Yes, there is. ")))
    world.feed(ev.SpeechReady(response_id, speech(1.0)))
    world.feed(ev.FragmentSpoken(response_id))
    world.feed(ev.FragmentReady(response_id, fragment("It is free.")))
    world.feed(ev.ResponseFailed(response_id, "synthesizer", "it died"))
    world.play_out(response_id)
    assert world.conversation.history.items[-1].text == "Yes, there is. Sorry."
    assert said(world)[-1] == ("assistant", "Yes, there is.")


def test_after_a_failure_the_call_goes_on():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    world.feed(ev.ResponseFailed(response_id, "llm", "gone"))
    world.play_out(response_id)
    assert of(do.StartResponse, world.say("hello again", 9.0))


def test_cancelling_stops_the_response_and_keeps_what_was_played():
    world = CallWorld(played_s=9.0)
    world.say("is there parking")
    world.make("Yes, there is.")
    commands = world.feed(ev.ResponseCancelled())
    assert of(notify.NotifyResponseEnded, commands)[0].reason == "client_cancelled"
    assert not world.live()
    assert said(world)[-1] == ("assistant", "Yes, there is.")


def test_when_the_call_ends_the_history_keeps_what_was_played_by_then():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes, there is. ", "It is free.")
    assert world.feed(ev.CallerGone(response_id, 1.0)) == []
    assert said(world)[-1] == ("assistant", "Yes, there is.")


def test_of_a_response_that_did_not_sound_when_the_call_ended_nothing_was_heard():
    world = CallWorld()
    world.say("is there parking")
    world.feed(ev.FragmentReady(world.response_id(), fragment("Yes, there is.")))
    world.feed(ev.CallerGone("", 0.0))
    item = world.conversation.history.items[-1]
    assert isinstance(item, MessageItem)
    assert (item.text, item.status) == ("", "incomplete")


def test_a_text_response_needs_no_playout():
    world = CallWorld(replace(MANUAL, output_modality="text"))
    world.feed(ev.ItemCreated(MessageItem("a", "user", "hello")))
    world.feed(ev.ResponseRequested())
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("Hello.")))
    commands = world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    assert [type(c) for c in commands] == [notify.NotifyResponseEnded]
    assert said(world)[-1] == ("assistant", "Hello.")


def test_a_response_outside_the_conversation_leaves_no_trace_in_it():
    world = CallWorld(MANUAL)
    request = ev.ResponseRequested(messages=(Message("user", "classify this"),), in_conversation=False)
    (start,) = of(do.StartResponse, world.feed(request))
    assert start.request.messages == (Message("user", "classify this"),)
    world.play_out(world.make("Spam."))
    assert said(world) == []


def test_a_tool_call_and_its_output_are_in_the_next_prompt():
    world = CallWorld()
    world.say("is it raining")
    response_id = world.response_id()
    call = ToolCall("call_1", "weather", "{}")
    (notified,) = world.feed(ev.ToolCallsReady(response_id, (call,)))
    assert notified.call == call
    world.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    world.play_out(response_id)
    world.feed(ev.ItemCreated(ToolOutputItem("out", "call_1", '{"rain": true}')))
    world.feed(ev.ResponseRequested())
    start = world.working[world.response_id()]
    assert [message.role for message in start.request.messages] == ["user", "assistant", "tool"]
    assert start.request.messages[1].tool_calls == (call,)


def test_a_late_response_is_filled_once_and_the_history_has_it():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    assert world.feed(ev.ResponseLate(response_id)) == [do.Fill(response_id)]
    world.feed(ev.FragmentReady(response_id, fragment("One moment. ")))
    assert world.feed(ev.ResponseLate(response_id)) == []
    world.feed(ev.SpeechReady(response_id, speech(0.5)))
    world.feed(ev.FragmentSpoken(response_id))
    world.play_out(world.make("Yes, there is."))
    assert said(world)[-1] == ("assistant", "One moment. Yes, there is.")
