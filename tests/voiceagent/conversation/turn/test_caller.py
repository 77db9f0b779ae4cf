"""The caller's turn, and what is made of it."""

from __future__ import annotations

from call_settings import call_settings
from call_world import CallWorld, of
from turn_pauses import calling

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify

MANUAL = call_settings(turn_detection=None)


def test_a_voice_is_recognized_from_its_start_and_announced():
    world = CallWorld()
    commands = world.feed(ev.SpeechStarted(1.5))
    item_id = of(do.StartRecognition, commands)[0].item_id
    assert commands == [do.StartRecognition(item_id, 1.5), notify.NotifySpeechStarted(item_id, 1.5)]


def test_a_pause_asks_for_the_words_so_far():
    world = CallWorld()
    item_id = world.begin_speaking()
    assert world.feed(ev.SpeechPaused(2.0)) == [do.FlushRecognition(item_id)]


def test_a_pause_of_who_was_asked_for_a_number_asks_for_one():
    world = calling()
    world.say("I'd like a table.", at_s=1.0)
    world.play_out(world.make("Gladly. For how many people?"))
    item_id = world.begin_speaking(8.0)
    assert do.FlushRecognition(item_id, number=True) in world.feed(ev.SpeechPaused(9.0))


def test_an_answer_to_an_older_flush_settles_nothing():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.SpeechPaused(2.0))
    world.feed(ev.SpeechResumed(2.1))
    world.feed(ev.SpeechPaused(3.0))
    assert not of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "what does", "", True)))
    assert of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "what does it cost", "", True)))


def test_a_turn_without_words_is_not_answered():
    world = CallWorld()
    commands = world.say("")
    assert not of(do.StartResponse, commands)
    assert of(do.StopRecognition, commands)


def test_words_are_notified_when_stable_and_once_more_when_final():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.TranscriptChanged(item_id, "how much is", "how much"))
    world.feed(ev.TranscriptChanged(item_id, "how much is it", "how much is"))
    world.pause(item_id, "how much is it", at_s=3.0)
    world.feed(ev.TurnEnded(3.0))
    notified = [(n.text, n.final) for n in of(notify.NotifyTranscript, world.commands)]
    assert notified == [("how much", False), (" is", False), (" it", False), ("how much is it", True)]


def test_a_late_transcript_still_starts_the_response():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.SpeechPaused(2.0))
    assert not of(do.StartResponse, world.feed(ev.TurnEnded(2.0)))
    assert of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "hello there", "", True)))


def test_manual_turns_are_answered_only_when_asked():
    world = CallWorld(MANUAL)
    item_id = world.begin_speaking(0.0)
    commands = world.feed(ev.InputCommitted(1.5))
    assert of(notify.NotifyInputCommitted, commands) and of(do.FlushRecognition, commands)
    world.feed(ev.TranscriptChanged(item_id, "is there parking", "", True))
    assert not world.live()
    commands = world.feed(ev.ResponseRequested())
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


def test_clearing_the_input_begins_the_response_that_waited_for_it():
    world = CallWorld(MANUAL)
    first = world.begin_speaking(0.0)
    world.feed(ev.InputCommitted(1.5))
    world.feed(ev.ResponseRequested())
    world.begin_speaking(2.0)
    assert not of(do.StartResponse, world.feed(ev.TranscriptChanged(first, "hello", "", True)))
    (start,) = of(do.StartResponse, world.feed(ev.InputCleared()))
    assert start.request.messages == (Message("user", "hello"),)
