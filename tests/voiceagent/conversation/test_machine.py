"""The turn machine, one behaviour a test."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings
from call_world import CallWorld, fragment, speech

from llmcore.engine import Message, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem, ToolOutputItem, to_messages

MANUAL = call_settings(turn_detection=None)


def of(kind: type, commands: list[do.Command]) -> list:
    return [command for command in commands if isinstance(command, kind)]


def words(world: CallWorld) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in to_messages(world.conversation.history.items)]


def test_a_call_begins_with_its_settings():
    world = CallWorld()
    assert world.feed(ev.CallStarted()) == [notify.NotifySettings(world.settings, created=True)]


def test_settings_that_change_before_the_call_starts_are_told_once():
    world = CallWorld()
    changed = call_settings(instructions="You keep the desk.")
    configure = [do.ConfigureListening(changed), do.ConfigureSpeaking(changed)]
    assert world.feed(ev.SettingsChanged(changed)) == configure
    assert world.feed(ev.CallStarted()) == [notify.NotifySettings(changed, created=True)]
    assert world.feed(ev.SettingsChanged(changed)) == [notify.NotifySettings(changed), *configure]


def test_a_greeting_is_said_without_asking_the_llm():
    world = CallWorld()
    commands = world.feed(ev.CallStarted("Good evening."))
    assert of(do.StartResponse, commands)[0].say == "Good evening."
    world.play_out(world.make("Good evening."))
    assert words(world) == [("assistant", "Good evening.")]


def test_a_voice_is_recognized_from_its_start_and_told():
    world = CallWorld()
    commands = world.feed(ev.SpeechStarted(1.5))
    item_id = of(do.StartRecognition, commands)[0].item_id
    assert commands == [do.StartRecognition(item_id, 1.5), notify.NotifySpeechStarted(item_id, 1.5)]


def test_a_pause_asks_for_the_words_so_far():
    world = CallWorld()
    item_id = world.begin_speaking()
    assert world.feed(ev.SpeechPaused(2.0)) == [do.FlushRecognition(item_id)]


def test_settled_words_in_a_pause_start_a_preemptive_response_that_nobody_hears_of():
    world = CallWorld()
    item_id = world.begin_speaking()
    commands = world.pause(item_id, "what does a room cost")
    (start,) = of(do.StartResponse, commands)
    assert start.preemptive and start.turn_id == item_id
    assert start.request.messages == (Message("user", "what does a room cost"),)
    assert not of(notify.NotifyResponseStarted, commands)


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


def test_an_answer_to_an_older_flush_settles_nothing():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.SpeechPaused(2.0))
    world.feed(ev.SpeechResumed(2.1))
    world.feed(ev.SpeechPaused(3.0))
    assert not of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "what does", "", True)))
    assert of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "what does it cost", "", True)))


def test_a_turn_has_no_more_preemptive_responses_than_allowed():
    world = CallWorld()
    item_id = world.begin_speaking()
    started = 0
    for attempt in range(world.policy.preemptive_attempts + 2):
        started += len(of(do.StartResponse, world.pause(item_id, f"words {attempt}")))
        world.feed(ev.SpeechResumed(2.0))
    assert started == world.policy.preemptive_attempts


def test_a_turn_without_words_is_not_answered():
    world = CallWorld()
    commands = world.say("")
    assert not of(do.StartResponse, commands)
    assert of(do.StopRecognition, commands)


def test_words_are_told_as_they_become_stable_and_once_more_when_final():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.TranscriptChanged(item_id, "how much is", "how much"))
    world.feed(ev.TranscriptChanged(item_id, "how much is it", "how much is"))
    world.pause(item_id, "how much is it", at_s=3.0)
    world.feed(ev.TurnEnded(3.0))
    told = [(n.text, n.final) for n in of(notify.NotifyTranscript, world.commands)]
    assert told == [("how much", False), (" is", False), (" it", False), ("how much is it", True)]


def test_the_history_holds_both_sides_when_the_response_was_heard():
    world = CallWorld()
    world.say("is there parking")
    world.play_out(world.make("Yes, there is. ", "It is free."))
    assert words(world) == [("user", "is there parking"), ("assistant", "Yes, there is. It is free.")]


def test_a_response_is_told_to_have_ended_when_its_sound_was_sent():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes.")
    (end,) = world.feed(ev.PlayoutSent(response_id))
    assert end == notify.NotifyResponseEnded(response_id, "completed", "", Usage(10, 0, 5))


def test_a_voice_over_the_agent_ducks_it_and_is_not_told_yet():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    commands = world.feed(ev.SpeechStarted(5.0))
    assert of(do.DuckPlayout, commands) and not of(notify.NotifySpeechStarted, commands)


def test_what_may_be_a_voice_ducks_the_agent_and_a_blip_brings_it_back():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    assert world.feed(ev.VoiceNoticed(5.0)) == [do.DuckPlayout()]
    assert world.feed(ev.VoiceFaded(5.03)) == [do.RestorePlayout()]


def test_what_may_be_a_voice_changes_nothing_while_the_agent_is_silent():
    world = CallWorld()
    assert world.feed(ev.VoiceNoticed(5.0)) == []
    assert world.feed(ev.VoiceFaded(5.03)) == []


def test_a_sustained_voice_holds_the_agent_where_it_is_and_a_backchannel_lets_it_go_on():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert world.feed(ev.InterruptionCandidate(5.2)) == [do.HoldPlayout()]
    world.pause(item_id, "uh huh", 5.4)
    assert of(do.RestorePlayout, world.feed(ev.TurnEnded(5.4)))
    assert world.live()


def test_a_prolonged_voice_interrupts_and_the_history_ends_where_the_caller_stopped_listening():
    world = CallWorld(played_s=0.5)
    world.say("is there parking")
    response_id = world.make("one two three four")
    item_id = world.begin_speaking(5.0)
    commands = world.feed(ev.InterruptionConfirmed(5.0))
    assert notify.NotifySpeechStarted(item_id, 5.0) in commands
    assert of(do.CancelResponse, commands) and of(do.StopPlayout, commands)
    assert of(notify.NotifyResponseEnded, commands)[0].status == "cancelled"
    assert of(notify.NotifyResponseEnded, commands)[0].reason == "turn_detected"
    heard = words(world)[-1][1]
    assert "one two three four".startswith(heard) and 0 < len(heard) < len("one two three four")
    assert not world.feed(ev.SpeechReady(response_id, speech(1.0)))


def test_words_that_are_no_backchannel_interrupt():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert not of(do.StopPlayout, world.feed(ev.TranscriptChanged(item_id, "no wait", "no")))
    assert of(do.StopPlayout, world.feed(ev.TranscriptChanged(item_id, "no wait", "no wait")))


def test_words_beside_backchannels_must_be_enough_to_interrupt():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert not of(do.StopPlayout, world.feed(ev.TranscriptChanged(item_id, "okay i", "okay i")))
    assert of(do.StopPlayout, world.feed(ev.TranscriptChanged(item_id, "okay i think", "okay i think")))


@pytest.mark.parametrize(
    ("heard", "until_s"),
    [
        ("Him and them.", 5.7),
        ("Amen, then.", 5.7),
        ("I am.", 5.7),
        ("And then,", 5.7),
        ("I am in the.", 5.7),
        ("Amend them.", 5.7),
        ("That's it.", 5.06),  # nobody says that in so short a time: the first breath of an "uh huh"
    ],
)
def test_a_hum_misheard_as_words_stops_nothing_and_leaves_no_trace(heard: str, until_s: float):
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    before = words(world)
    item_id = world.begin_speaking(5.0)
    commands = world.pause(item_id, heard, until_s) + world.feed(ev.TurnEnded(until_s))
    assert of(do.RestorePlayout, commands) and not of(do.StopPlayout, commands)
    assert words(world) == before


def test_what_is_understood_when_the_voice_went_on_counts():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert not of(do.StopPlayout, world.pause(item_id, "That's it.", 5.06))
    world.feed(ev.SpeechResumed(5.2))
    assert of(do.StopPlayout, world.pause(item_id, "That's it, thanks.", 5.8))


def test_words_that_a_hum_may_be_interrupt_beside_another():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert of(do.StopPlayout, world.pause(item_id, "I am leaving", 5.7))


def test_a_long_voice_interrupts_though_its_words_may_be_a_hum():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.TranscriptChanged(item_id, "and then I", "and then"))
    assert of(do.StopPlayout, world.feed(ev.InterruptionConfirmed(5.9)))


def test_one_word_lets_the_agent_go_on_and_is_answered_after_it():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionCandidate(5.2))
    world.pause(item_id, "tuesday", 5.3)
    commands = world.feed(ev.TurnEnded(5.3))
    assert of(do.RestorePlayout, commands) and not of(do.StopPlayout, commands)
    (start,) = of(do.StartResponse, world.play_out(response_id))
    assert start.request.messages[-1] == Message("user", "tuesday")


def test_a_backchannel_brings_the_voice_back_and_leaves_no_trace():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    before = words(world)
    item_id = world.begin_speaking(5.0)
    world.pause(item_id, "uh huh", 5.3)
    commands = world.feed(ev.TurnEnded(5.3))
    assert commands == [do.StopRecognition(item_id), do.RestorePlayout()]
    assert words(world) == before


def test_one_word_that_asks_for_the_turn_interrupts_once_it_is_settled():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert of(do.StopPlayout, world.pause(item_id, "stop", 5.3))


def test_words_that_come_after_the_turn_has_ended_interrupt_too():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.SpeechPaused(5.3))
    world.feed(ev.TurnEnded(5.3))
    commands = world.feed(ev.TranscriptChanged(item_id, "stop", "", True))
    assert of(do.StopPlayout, commands)
    assert words(world)[-1] == ("user", "is there parking stop")
    assert world.working


def test_a_voice_that_outlasts_the_response_becomes_a_turn():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes.")
    item_id = world.begin_speaking(5.0)
    assert notify.NotifySpeechStarted(item_id, 5.0) in world.play_out(response_id)


def test_an_answer_to_a_question_that_was_just_asked_is_no_backchannel():
    world = CallWorld()
    world.say("book a room")
    response_id = world.make("Shall I?")
    world.feed(ev.PlayoutSent(response_id))
    item_id = world.begin_speaking(5.0)
    world.pause(item_id, "yes", 5.3)
    world.feed(ev.TurnEnded(5.3))
    world.feed(ev.PlayoutPlayed(response_id))
    assert words(world)[-1] == ("user", "yes")
    assert world.working


def test_an_uninterruptible_response_goes_on_and_the_callers_turn_is_answered_after_it():
    world = CallWorld(MANUAL)
    world.feed(ev.ItemCreated(MessageItem("a", "user", "read the notification")))
    world.feed(ev.ResponseRequested(interruptible=False))
    world.feed(ev.SettingsChanged(call_settings()))
    response_id = world.make("This call is recorded.")
    commands = world.say("what about parking", 5.0) + world.feed(ev.InterruptionConfirmed(5.0))
    assert not of(do.StopPlayout, commands) and not of(do.StartResponse, commands)
    commands = world.play_out(response_id)
    (start,) = of(do.StartResponse, commands)
    assert start.request.messages[-1] == Message("user", "what about parking")


def test_a_response_cut_before_it_was_heard_is_owed_again_after_a_noise():
    world = CallWorld(played_s=0.0)
    world.say("is there parking")
    world.response_id()
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(5.0))
    world.pause(item_id, "", 6.0)
    commands = world.feed(ev.TurnEnded(6.0))
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


def test_a_late_transcript_still_starts_the_response():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.SpeechPaused(2.0))
    assert not of(do.StartResponse, world.feed(ev.TurnEnded(2.0)))
    assert of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "hello there", "", True)))


# ---- failures


def test_a_failed_response_ends_with_an_apology_and_the_reason():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    world.feed(ev.ResponseFailed(response_id, "llm", "the model is gone"))
    world.play_out(response_id)
    (end,) = of(notify.NotifyResponseEnded, world.commands)
    assert (end.status, end.reason) == ("failed", "llm: the model is gone")
    assert words(world)[-1] == ("assistant", "Sorry.")


def test_what_was_heard_before_a_failure_stays_in_the_history():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("Yes, there is. ")))
    world.feed(ev.SpeechReady(response_id, speech(1.0)))
    world.feed(ev.FragmentSpoken(response_id))
    world.feed(ev.FragmentReady(response_id, fragment("It is free.")))
    world.feed(ev.ResponseFailed(response_id, "synthesizer", "it died"))
    world.play_out(response_id)
    assert words(world)[-1] == ("assistant", "Yes, there is. Sorry.")


def test_a_failed_preemptive_response_is_tried_again_at_the_turns_end():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.pause(item_id, "is there parking")
    first = world.response_id()
    assert world.feed(ev.ResponseFailed(first, "llm", "busy")) == [do.CancelResponse(first)]
    assert of(do.StartResponse, world.feed(ev.TurnEnded(2.0)))


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


def test_after_a_failure_the_call_goes_on():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    world.feed(ev.ResponseFailed(response_id, "llm", "gone"))
    world.play_out(response_id)
    assert of(do.StartResponse, world.say("hello again", 9.0))


# ---- what the client asks for


def test_manual_turns_are_answered_only_when_asked():
    world = CallWorld(MANUAL)
    item_id = world.begin_speaking(0.0)
    commands = world.feed(ev.InputCommitted(1.5))
    assert of(notify.NotifyInputCommitted, commands) and of(do.FlushRecognition, commands)
    world.feed(ev.TranscriptChanged(item_id, "is there parking", "", True))
    assert not world.live()
    commands = world.feed(ev.ResponseRequested())
    assert of(do.StartResponse, commands)[0].request.messages == (Message("user", "is there parking"),)


def test_a_response_asked_for_before_the_words_are_settled_waits_for_them():
    world = CallWorld(MANUAL)
    item_id = world.begin_speaking(0.0)
    world.feed(ev.InputCommitted(1.5))
    assert not of(do.StartResponse, world.feed(ev.ResponseRequested()))
    commands = world.feed(ev.TranscriptChanged(item_id, "is there parking", "", True))
    assert of(do.StartResponse, commands)[0].request.messages == (Message("user", "is there parking"),)


def test_committing_nothing_is_an_error():
    (error,) = CallWorld(MANUAL).feed(ev.InputCommitted(0.0, "ev1"))
    assert (error.code, error.client_event_id) == ("input_audio_buffer_commit_empty", "ev1")


def test_clearing_the_input_drops_the_turn():
    world = CallWorld(MANUAL)
    item_id = world.begin_speaking(0.0)
    commands = world.feed(ev.InputCleared())
    assert commands == [
        do.StopRecognition(item_id),
        do.RestorePlayout(),
        do.ClearInput(),
        notify.NotifyInputCleared(),
    ]


def test_a_second_response_while_one_is_running_is_an_error():
    world = CallWorld()
    world.say("is there parking")
    (error,) = world.feed(ev.ResponseRequested(client_event_id="ev2"))
    assert error.code == "conversation_already_has_active_response"


def test_a_response_asked_for_when_the_one_before_is_told_to_be_over_follows_what_is_still_heard_of_it():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes, there is.")
    assert of(notify.NotifyResponseEnded, world.feed(ev.PlayoutSent(response_id)))
    assert world.feed(ev.ResponseRequested()) == []
    assert of(do.StartResponse, world.feed(ev.PlayoutPlayed(response_id)))


def test_cancelling_stops_the_response_and_keeps_what_was_heard():
    world = CallWorld(played_s=9.0)
    world.say("is there parking")
    world.make("Yes, there is.")
    commands = world.feed(ev.ResponseCancelled())
    assert of(notify.NotifyResponseEnded, commands)[0].reason == "client_cancelled"
    assert not world.live()
    assert words(world)[-1] == ("assistant", "Yes, there is.")


def test_cancelling_nothing_is_an_error():
    (error,) = CallWorld().feed(ev.ResponseCancelled("resp_9", "ev3"))
    assert error.code == "response_cancel_not_active" and "'resp_9'" in error.message


def test_a_text_response_needs_no_playout():
    world = CallWorld(replace(MANUAL, output_modality="text"))
    world.feed(ev.ItemCreated(MessageItem("a", "user", "hello")))
    world.feed(ev.ResponseRequested())
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("Hello.")))
    commands = world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    assert [type(c) for c in commands] == [notify.NotifyResponseEnded]
    assert words(world)[-1] == ("assistant", "Hello.")


def test_a_response_outside_the_conversation_leaves_no_trace_in_it():
    world = CallWorld(MANUAL)
    request = ev.ResponseRequested(messages=(Message("user", "classify this"),), in_conversation=False)
    (start,) = of(do.StartResponse, world.feed(request))
    assert start.request.messages == (Message("user", "classify this"),)
    world.play_out(world.make("Spam."))
    assert words(world) == []


def test_instructions_come_first_in_the_prompt():
    world = CallWorld(call_settings(instructions="Be kind."))
    world.say("hello")
    assert world.working[world.response_id()].request.messages == (
        Message("system", "Be kind."),
        Message("user", "hello"),
    )


def test_a_tool_call_and_its_output_are_in_the_next_prompt():
    world = CallWorld()
    world.say("is it raining")
    response_id = world.response_id()
    call = ToolCall("call_1", "weather", "{}")
    (told,) = world.feed(ev.ToolCallsReady(response_id, (call,)))
    assert told.call == call
    world.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    world.play_out(response_id)
    world.feed(ev.ItemCreated(ToolOutputItem("out", "call_1", '{"rain": true}')))
    world.feed(ev.ResponseRequested())
    start = world.working[world.response_id()]
    assert [message.role for message in start.request.messages] == ["user", "assistant", "tool"]
    assert start.request.messages[1].tool_calls == (call,)


def test_a_client_that_truncates_late_corrects_the_history():
    world = CallWorld(played_s=9.0)
    world.say("count")
    response_id = world.make("one two three four")
    world.play_out(response_id)
    item_id = world.conversation.history.last_id()
    assert world.feed(ev.ItemTruncated(item_id, 0.5)) == [notify.NotifyItemTruncated(item_id, 0.5)]
    heard = words(world)[-1][1]
    assert heard and heard != "one two three four"


def test_a_client_that_truncates_in_mid_response_stops_it_there():
    world = CallWorld(played_s=9.0)
    world.say("count")
    world.make("one two three four")
    item_id = world.conversation.history.last_id()
    commands = world.feed(ev.ItemTruncated(item_id, 0.0))
    assert of(notify.NotifyItemTruncated, commands) == [notify.NotifyItemTruncated(item_id, 0.0)]
    assert words(world) == [("user", "count")]


def test_truncating_more_than_there_is_is_an_error():
    world = CallWorld()
    world.say("count")
    world.play_out(world.make("one two"))
    item_id = world.conversation.history.last_id()
    (error,) = world.feed(ev.ItemTruncated(item_id, 60.0))
    assert error.param == "audio_end_ms" and "60000" in error.message


@pytest.mark.parametrize("request_type", [ev.ItemDeleted, ev.ItemRetrieved])
def test_an_unknown_item_is_an_error_that_names_it(request_type: type):
    (error,) = CallWorld().feed(request_type("item_77"))
    assert error.code == "item_not_found" and "'item_77'" in error.message


def test_a_silent_caller_is_asked_again():
    world = CallWorld()
    commands = world.feed(ev.CallerIdle(5.0))
    (start,) = of(do.StartResponse, commands)
    assert of(notify.NotifyIdle, commands) and start.say == "Are you still there?"


def test_a_caller_who_stays_silent_hears_goodbye_and_the_agent_hangs_up():
    world = CallWorld()
    world.feed(ev.CallerIdle(5.0))
    assert not of(do.HangUp, world.play_out(world.make("Are you still there?")))
    (start,) = of(do.StartResponse, world.feed(ev.CallerIdle(10.0)))
    assert start.say == "Goodbye."
    assert of(do.HangUp, world.play_out(world.make("Goodbye.")))


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


def test_a_late_response_is_filled_once_and_the_filler_is_in_the_history():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    assert world.feed(ev.ResponseLate(response_id)) == [do.Fill(response_id)]
    world.feed(ev.FragmentReady(response_id, fragment("One moment. ")))
    assert world.feed(ev.ResponseLate(response_id)) == []
    world.feed(ev.SpeechReady(response_id, speech(0.5)))
    world.feed(ev.FragmentSpoken(response_id))
    world.play_out(world.make("Yes, there is."))
    assert words(world)[-1] == ("assistant", "One moment. Yes, there is.")


def test_an_agent_that_is_busy_is_not_idle():
    world = CallWorld()
    world.say("hello")
    assert world.feed(ev.CallerIdle(5.0)) == []
