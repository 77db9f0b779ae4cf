"""The answering policy: which response is made, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, fragment, of, speech

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem

MANUAL = call_settings(turn_detection=None)


def test_settled_words_in_a_pause_start_a_preemptive_response():
    world = CallWorld()
    item_id = world.begin_speaking()
    commands = world.pause(item_id, "what does a room cost")
    (start,) = of(do.StartResponse, commands)
    assert start.preemptive and start.turn_id == item_id
    assert start.request.messages == (Message("user", "what does a room cost"),)
    assert not of(notify.NotifyResponseStarted, commands)


WHOLE, OTHER, OPEN = "How much is a room?", "How much is the room?", "I would like a"


def listening(preemptive_attempts: int = 5) -> CallWorld:
    policy = replace(POLICY, language="en", preemptive_attempts=preemptive_attempts)
    return CallWorld(call_settings(turn_detection=turn_detection("semantic_vad")), policy)


def told_and_paused(world: CallWorld, text: str) -> tuple[str, list[do.Command]]:
    """A caller pauses with an interim transcript: return the turn's item and the commands that follow."""
    item_id = world.begin_speaking()
    assert not of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, text, "", False)))
    return item_id, world.feed(ev.SpeechPaused(2.0))


def test_words_that_seem_whole_are_answered_ahead_while_they_are_being_settled():
    world = listening()
    item_id, commands = told_and_paused(world, WHOLE)
    (start,) = of(do.StartResponse, commands)
    assert start.preemptive and start.turn_id == item_id
    settled = world.feed(ev.TranscriptChanged(item_id, "how much is a room", "", True))
    assert not of(do.StartResponse, settled) and not of(do.CancelResponse, settled)
    assert [one.response_id for one in of(do.ReleaseResponse, world.feed(ev.TurnEnded(2.0)))] == [
        start.response_id
    ]


def test_what_was_foreseen_is_dropped_where_the_settled_words_are_others():
    world = listening()
    item_id, commands = told_and_paused(world, WHOLE)
    (foreseen,) = of(do.StartResponse, commands)
    settled = world.feed(ev.TranscriptChanged(item_id, OTHER, "", True))
    assert [one.response_id for one in of(do.CancelResponse, settled)] == [foreseen.response_id]
    (start,) = of(do.StartResponse, settled)
    assert start.request.messages == (Message("user", OTHER),)


def test_words_told_in_the_pause_are_foreseen_too():
    world = listening()
    item_id, commands = told_and_paused(world, OPEN)
    assert not of(do.StartResponse, commands)
    told = world.feed(ev.TranscriptChanged(item_id, WHOLE, "", False))
    assert of(do.StartResponse, told)


def test_nothing_is_foreseen_where_no_other_attempt_is_left():
    world = listening(preemptive_attempts=1)
    item_id, commands = told_and_paused(world, WHOLE)
    assert not of(do.StartResponse, commands)
    assert of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, WHOLE, "", True)))


def test_a_caller_who_goes_on_drops_what_was_foreseen():
    world = listening()
    _, commands = told_and_paused(world, WHOLE)
    (foreseen,) = of(do.StartResponse, commands)
    assert world.feed(ev.SpeechResumed(2.1)) == [do.CancelResponse(foreseen.response_id)]


def test_the_turns_end_with_the_same_words_releases_the_preemptive_response():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.pause(item_id, "what does a room cost")
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("Ninety dollars.")))
    assert not world.feed(ev.SpeechReady(response_id, speech(1.0)))
    commands = world.feed(ev.TurnEnded(2.0))
    assert of(do.ReleaseResponse, commands) and of(do.Play, commands)
    assert not of(do.StartResponse, commands)


def test_more_speech_cancels_the_preemptive_response():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.pause(item_id, "what does a room cost")
    response_id = world.response_id()
    assert world.feed(ev.SpeechResumed(2.1)) == [do.CancelResponse(response_id)]
    assert not world.feed(ev.SpeechReady(response_id, speech(1.0)))


def test_other_words_at_the_end_start_a_new_response():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.pause(item_id, "what does a room")
    first = world.response_id()
    world.feed(ev.SpeechResumed(2.1))
    world.feed(ev.SpeechPaused(3.0))
    world.feed(ev.TurnEnded(3.0))
    commands = world.feed(ev.TranscriptChanged(item_id, "what does a room cost", "", True))
    (start,) = of(do.StartResponse, commands)
    assert start.response_id != first and not start.preemptive


def test_a_turn_has_no_more_preemptive_responses_than_allowed():
    world = CallWorld()
    item_id = world.begin_speaking()
    started = 0
    for attempt in range(world.policy.preemptive_attempts + 2):
        started += len(of(do.StartResponse, world.pause(item_id, f"words {attempt}")))
        world.feed(ev.SpeechResumed(2.0))
    assert started == world.policy.preemptive_attempts


def test_a_failed_preemptive_response_is_tried_again_at_the_turns_end():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.pause(item_id, "is there parking")
    first = world.response_id()
    assert world.feed(ev.ResponseFailed(first, "llm", "busy")) == [do.CancelResponse(first)]
    assert of(do.StartResponse, world.feed(ev.TurnEnded(2.0)))


def test_a_response_cut_by_a_noise_before_it_played_is_made_again():
    world = CallWorld(played_s=0.0)
    world.say("is there parking")
    world.response_id()
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(5.0))
    commands = world.pause(item_id, "", 6.0) + world.feed(ev.TurnEnded(6.0))
    (start,) = of(do.StartResponse, commands)
    assert start.request.messages == (Message("user", "is there parking"),)


def test_two_turns_before_the_answer_are_joined_in_the_prompt():
    world = CallWorld(played_s=0.0)
    world.say("is there parking")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(5.0))
    world.pause(item_id, "and a pool", 6.0)
    world.feed(ev.TurnEnded(6.0))
    start = world.working[world.response_id()]
    assert start.request.messages == (Message("user", "is there parking and a pool"),)


def test_a_turn_that_cannot_be_recognized_is_answered_with_an_apology():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.RecognitionFailed(item_id, "the worker died"))
    world.feed(ev.SpeechPaused(2.0))
    commands = world.feed(ev.TurnEnded(2.0))
    assert notify.NotifyTranscriptFailed(item_id, "the worker died") in commands
    world.play_out(world.response_id())
    (end,) = of(notify.NotifyResponseEnded, world.commands)
    assert (end.status, end.reason) == ("failed", "recognizer: the worker died")


def test_a_response_asked_for_too_soon_waits_for_the_words():
    world = CallWorld(MANUAL)
    item_id = world.begin_speaking(0.0)
    world.feed(ev.InputCommitted(1.5))
    assert not of(do.StartResponse, world.feed(ev.ResponseRequested()))
    commands = world.feed(ev.TranscriptChanged(item_id, "is there parking", "", True))
    assert of(do.StartResponse, commands)[0].request.messages == (Message("user", "is there parking"),)


def test_a_second_response_while_one_is_running_is_an_error():
    world = CallWorld()
    world.say("is there parking")
    (error,) = world.feed(ev.ResponseRequested(client_event_id="ev2"))
    assert error.code == "conversation_already_has_active_response"


def test_a_response_asked_for_after_the_end_of_one_follows_its_sound():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes, there is.")
    assert of(notify.NotifyResponseEnded, world.feed(ev.PlayoutSent(response_id)))
    assert world.feed(ev.ResponseRequested()) == []
    assert of(do.StartResponse, world.feed(ev.PlayoutPlayed(response_id)))


def test_what_the_agents_code_has_the_model_say_is_told_once_behind_the_history():
    world = CallWorld(call_settings(instructions="Be brief."))
    world.say("thank you")
    world.play_out(world.make("Gladly."))
    (start,) = of(do.StartResponse, world.feed(ev.ReplyRequested("Ask for a rating.")))
    said = (Message("system", "Be brief."), Message("user", "thank you"))
    guided = (*said, Message("assistant", "Gladly."), Message("system", "Ask for a rating."))
    assert (start.say, start.own_prompt, start.request.messages) == ("", True, guided)
    world.play_out(world.make("How was it?"))
    (start,) = of(do.StartResponse, world.say("very good", 9.0))
    answered = (Message("assistant", "Gladly. How was it?"), Message("user", "very good"))
    assert start.request.messages == (*said, *answered)


def test_a_reply_that_the_agents_code_wants_waits_for_the_caller_and_answers_nothing_of_his():
    world = CallWorld()
    item_id = world.begin_speaking()
    assert not of(do.StartResponse, world.feed(ev.ReplyRequested("Ask for a rating.")))
    world.pause(item_id, "is there parking")
    (start,) = of(do.StartResponse, world.feed(ev.TurnEnded(2.0)))
    assert start.request.messages[-1] == Message("system", "Ask for a rating.")
    (start,) = of(do.StartResponse, world.play_out(world.make("How was it?")))
    assert start.request.messages[-1] == Message("assistant", "How was it?")


@pytest.mark.parametrize(("words_only", "choice"), [(False, "auto"), (True, "none")])
def test_reply_of_words_only_may_call_no_tool(words_only: bool, choice: str):
    world = CallWorld()
    world.say("thank you")
    world.play_out(world.make("Gladly."))
    (start,) = of(do.StartResponse, world.feed(ev.ReplyRequested("Tell it.", words_only)))
    assert start.request.tool_choice == choice


def test_reply_of_words_only_that_waits_covers_the_same_request_again():
    world = CallWorld()
    world.say("thank you")
    world.make("Gladly.")
    for text in ("Tell it.", "Tell it."):
        world.feed(ev.ReplyRequested(text, words_only=True))
    assert of(do.StartResponse, world.play_out(world.response_id()))
    assert not of(do.StartResponse, world.play_out(world.make("It rains.")))


def test_cancelling_nothing_is_an_error():
    (error,) = CallWorld().feed(ev.ResponseCancelled("resp_9", "ev3"))
    assert error.code == "response_cancel_not_active" and "'resp_9'" in error.message


def test_instructions_come_first_in_the_prompt():
    world = CallWorld(call_settings(instructions="Be kind."))
    world.say("hello")
    assert world.working[world.response_id()].request.messages == (
        Message("system", "Be kind."),
        Message("user", "hello"),
    )


def test_a_silent_caller_is_asked_again():
    world = CallWorld()
    commands = world.feed(ev.CallerIdle(5.0))
    (start,) = of(do.StartResponse, commands)
    assert of(notify.NotifyIdle, commands) and start.say == "Are you still there?"


def test_the_silence_of_an_idle_caller_is_an_item_that_prompts_leave_out():
    world = CallWorld()
    world.say("hello")
    world.play_out(world.make("Hi."))
    (idle,) = of(notify.NotifyIdle, world.feed(ev.CallerIdle(5.0)))
    assert {idle.item_id, idle.previous_id} <= {item.item_id for item in world.conversation.history.items}
    world.play_out(world.make("Are you still there?"))
    (start,) = of(do.StartResponse, world.say("yes"))
    said = [message.content for message in start.request.messages if message.role != "system"]
    assert said == ["hello", "Hi. Are you still there?", "yes"]


def test_to_a_caller_who_stays_silent_the_agent_says_goodbye():
    world = CallWorld()
    world.feed(ev.CallerIdle(5.0))
    assert not of(do.HangUp, world.play_out(world.make("Are you still there?")))
    (start,) = of(do.StartResponse, world.feed(ev.CallerIdle(10.0)))
    assert start.say == "Goodbye."
    assert of(do.HangUp, world.play_out(world.make("Goodbye.")))


def test_a_noise_is_no_sign_of_the_caller():
    world = CallWorld()
    world.feed(ev.CallerIdle(5.0))
    world.play_out(world.make("Are you still there?"))
    world.say("", at_s=8.0)
    (start,) = of(do.StartResponse, world.feed(ev.CallerIdle(14.0)))
    assert start.say == "Goodbye."


def test_who_asked_for_a_moment_is_given_the_time_twice():
    world = CallWorld(policy=replace(POLICY, language="en"))
    world.say("Hold on, please.")
    world.play_out(world.make("Take your time."))
    assert world.feed(ev.CallerIdle(5.0)) == []
    (start,) = of(do.StartResponse, world.feed(ev.CallerIdle(10.0)))
    assert start.say == "Are you still there?"


def test_who_says_something_else_behind_it_is_asked_in_time():
    world = CallWorld(policy=replace(POLICY, language="en"))
    for words, at_s in (("Hold on, please.", 1.0), ("I have it.", 9.0)):
        world.say(words, at_s=at_s)
        world.play_out(world.make("All right."))
    assert of(do.StartResponse, world.feed(ev.CallerIdle(20.0)))


def test_a_caller_who_answers_in_time_is_not_hung_up_on():
    world = CallWorld(played_s=0.1)
    world.feed(ev.CallerIdle(5.0))
    world.play_out(world.make("Are you still there?"))
    world.feed(ev.CallerIdle(10.0))
    world.make("Goodbye.")
    item_id = world.begin_speaking(11.0)
    world.pause(item_id, "wait please", 12.0)
    world.feed(ev.TurnEnded(12.0))
    assert not of(do.HangUp, world.commands)
    world.play_out(world.make("Of course."))
    (start,) = of(do.StartResponse, world.feed(ev.CallerIdle(20.0)))
    assert start.say == "Are you still there?"


@pytest.mark.parametrize(
    "sign", [ev.KeyPressed("1", 0), ev.ItemCreated(MessageItem("made_1", "user", "I am here"))]
)
def test_a_caller_who_types_or_presses_a_key_is_asked_from_the_first_on(sign: ev.ClientRequest):
    world = CallWorld()
    world.feed(ev.CallerIdle(5.0))
    world.play_out(world.make("Are you still there?"))
    world.feed(sign)
    (start,) = of(do.StartResponse, world.feed(ev.CallerIdle(10.0)))
    assert start.say == "Are you still there?"


def test_an_agent_that_is_busy_is_not_idle():
    world = CallWorld()
    world.say("hello")
    assert world.feed(ev.CallerIdle(5.0)) == []
