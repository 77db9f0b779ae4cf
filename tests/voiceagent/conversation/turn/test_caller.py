"""The caller's turn, and what is made of it."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, of
from hypothesis import given
from hypothesis import strategies as st
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


def test_a_requested_response_waits_for_the_committed_words_not_for_the_audio_after_them():
    world = CallWorld(MANUAL)
    first = world.begin_speaking(0.0)
    world.feed(ev.InputCommitted(1.5))
    world.feed(ev.ResponseRequested())
    world.begin_speaking(1.5)  # a microphone that is always open
    (start,) = of(do.StartResponse, world.feed(ev.TranscriptChanged(first, "hello", "", True)))
    assert start.request.messages == (Message("user", "hello"),)


def test_a_requested_response_does_not_wait_for_words_that_are_not_committed():
    world = CallWorld(MANUAL)
    world.feed(ev.TranscriptChanged(world.begin_speaking(0.0), "and", ""))
    assert of(do.StartResponse, world.feed(ev.ResponseRequested()))


def test_the_agent_speaks_over_silence_that_is_not_committed():
    world = CallWorld(MANUAL)
    world.begin_speaking(0.0)
    (start,) = of(do.StartResponse, world.feed(ev.SpeechRequested("Your taxi is here.")))
    assert start.say == "Your taxi is here."


def test_the_agent_does_not_speak_over_words_that_are_not_committed():
    world = CallWorld(MANUAL)
    turn = world.begin_speaking(0.0)
    world.feed(ev.TranscriptChanged(turn, "is there", ""))
    assert not of(do.StartResponse, world.feed(ev.SpeechRequested("Your taxi is here.")))
    assert of(do.StartResponse, world.feed(ev.InputCleared()))


def test_the_agent_waits_for_a_turn_whose_end_the_server_detects_since_it_began():
    world = CallWorld(MANUAL)
    world.begin_speaking(0.0)
    world.feed(ev.SettingsChanged(replace(MANUAL, turn_detection=turn_detection())))
    assert not of(do.StartResponse, world.feed(ev.SpeechRequested("Your taxi is here.")))


def test_a_caller_who_speaks_into_the_buffer_is_not_taken_for_silent_by_the_agents_code():
    world = CallWorld(MANUAL)
    assert world.conversation.quiet
    world.begin_speaking(0.0)
    assert not world.conversation.quiet


def test_in_logs_of_older_builds_a_response_waits_until_the_input_is_cleared():
    world = CallWorld(MANUAL, policy=replace(POLICY, answers_over_buffer=False))
    first = world.begin_speaking(0.0)
    world.feed(ev.InputCommitted(1.5))
    world.feed(ev.ResponseRequested())
    world.begin_speaking(2.0)
    assert not of(do.StartResponse, world.feed(ev.TranscriptChanged(first, "hello", "", True)))
    (start,) = of(do.StartResponse, world.feed(ev.InputCleared()))
    assert start.request.messages == (Message("user", "hello"),)


# ---- the sound of items

UNANSWERED = call_settings(turn_detection=turn_detection(create_response=False))


def limits_of(commands: list[do.Command]) -> tuple[float, float]:
    """Return the limits of a turn's padding: for the recognizer, and in the client's notification."""
    (recognize,) = of(do.StartRecognition, commands)
    (started,) = of(notify.NotifySpeechStarted, commands)
    return recognize.not_before_s, started.not_before_s


def test_padding_goes_back_to_the_end_of_the_sound_of_the_item_before_and_no_further() -> None:
    world = CallWorld(UNANSWERED)
    item_id = world.begin_speaking(1.0)
    world.pause(item_id, "is there parking", 2.0)
    world.feed(ev.TurnEnded(2.0, silent_to_s=2.25))
    assert limits_of(world.feed(ev.SpeechStarted(2.4))) == (2.25, 2.25)


def test_where_the_padding_does_not_reach_it_the_item_before_is_no_limit() -> None:
    world = CallWorld(UNANSWERED)
    world.pause(world.begin_speaking(1.0), "is there parking", 2.0)
    world.feed(ev.TurnEnded(2.0, silent_to_s=2.25))
    assert limits_of(world.feed(ev.SpeechStarted(9.0))) == (0.0, 0.0)


def test_the_sound_of_a_turn_whose_words_are_still_awaited_is_its_own_already() -> None:
    world = CallWorld(UNANSWERED)
    world.begin_speaking(1.0)
    world.feed(ev.SpeechPaused(2.0))
    world.feed(ev.TurnEnded(2.0, silent_to_s=2.25))
    assert limits_of(world.feed(ev.SpeechStarted(2.3))) == (2.25, 2.25)


def test_with_semantic_vad_an_item_ends_with_its_voice() -> None:
    world = CallWorld(call_settings(turn_detection=turn_detection("semantic_vad", create_response=False)))
    world.pause(world.begin_speaking(1.0), "is there parking", 2.0)
    ended = world.feed(ev.TurnEnded(2.0, silent_to_s=2.2))
    assert [stopped.sound_end_s for stopped in of(notify.NotifySpeechStopped, ended)] == [None]
    assert limits_of(world.feed(ev.SpeechStarted(2.25))) == (2.0, 2.0)


GAPS = st.floats(0.0, 2.0)


@given(st.lists(st.tuples(GAPS, st.floats(0.05, 3.0), GAPS), min_size=2, max_size=8))
def test_no_two_items_share_a_sample(turns: list[tuple[float, float, float]]) -> None:
    world = CallWorld(UNANSWERED)
    padding_s = turn_detection().prefix_padding_s
    at_s, last_end_s = 0.0, 0.0
    for number, (before_s, voiced_s, silent_s) in enumerate(turns):
        at_s += before_s
        begun = world.feed(ev.SpeechStarted(at_s))
        (recognize,) = of(do.StartRecognition, begun)
        assert max(at_s - padding_s, recognize.not_before_s) >= last_end_s - 1e-9 or number == 0
        at_s += voiced_s
        world.pause(recognize.item_id, f"words {number}", at_s)
        last_end_s = at_s + silent_s
        world.feed(ev.TurnEnded(at_s, silent_to_s=last_end_s))
        at_s = last_end_s
