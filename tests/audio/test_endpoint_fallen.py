"""A voice that fell silent by its loudness, before the model says so."""

import pytest
from endpointing import CHUNK_S, SILENCE, VOICE, kinds, new_endpointer, play, speaking, times

from audio.endpoint import LINGER_S, MAX_FADE_S
from audio.speech_events import SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded


def fall(endpointer, seconds):
    """Push sound that is silent by its loudness, and a voice to the model."""
    chunks = range(round(seconds / CHUNK_S))
    return [event for _ in chunks for event in endpointer.push(VOICE, CHUNK_S, fell=True)]


def test_a_voice_that_fell_silent_has_ended_there():
    endpointer = speaking()
    events = fall(endpointer, 0.1) + play(endpointer, (SILENCE, 0.2))
    assert kinds(events) == [SpeechPaused, TurnEnded]
    assert times(events) == [0.3, 0.3]


def test_a_pause_lies_where_the_voice_ended_by_its_loudness():
    endpointer = speaking()
    events = endpointer.push(SILENCE, 0.1, ended_s=0.22) + play(endpointer, (SILENCE, 0.2))
    assert kinds(events) == [SpeechPaused, TurnEnded]
    assert times(events) == [0.22, 0.22]


def test_its_silence_counts_from_there():
    endpointer = speaking()
    endpointer.push(SILENCE, 0.1, ended_s=0.2)
    assert kinds(endpointer.require(0.2)) == [TurnEnded]


def test_a_voice_fades_for_so_long_at_most():
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 1.0))
    paused = endpointer.push(SILENCE, 0.1, ended_s=0.1)[0]
    assert paused.at_s == pytest.approx(1.0 - MAX_FADE_S)


def test_a_turn_ends_only_where_the_model_hears_no_voice_either():
    endpointer = speaking()
    assert kinds(fall(endpointer, 0.24)) == [SpeechPaused]
    assert endpointer.require(0.1) == []
    assert kinds(endpointer.push(SILENCE, CHUNK_S)) == [TurnEnded]


def test_a_voice_that_the_model_goes_on_to_hear_was_only_low():
    events = fall(speaking(), LINGER_S + 0.1)
    assert kinds(events) == [SpeechPaused, SpeechResumed]
    assert events[1].at_s == pytest.approx(0.3 + LINGER_S, abs=CHUNK_S)


def test_a_voice_that_grows_loud_again_goes_on():
    endpointer = speaking()
    events = fall(endpointer, 0.2) + play(endpointer, (VOICE, 0.1))
    assert kinds(events) == [SpeechPaused, SpeechResumed]
    assert times(events)[1] == 0.5


def test_a_voice_that_the_model_heard_all_along_goes_on_at_once():
    endpointer = speaking()
    fall(endpointer, 0.12)
    assert SpeechResumed in kinds(endpointer.push(VOICE, CHUNK_S))


def test_a_voice_that_the_model_lost_must_last_to_go_on():
    endpointer = speaking()
    fall(endpointer, 0.12)
    assert kinds(play(endpointer, (SILENCE, 0.02), (VOICE, 0.04))) == []
    assert SpeechResumed in kinds(endpointer.push(VOICE, CHUNK_S))


def test_before_speech_its_loudness_says_nothing_of_its_end():
    assert kinds(fall(new_endpointer(), 0.06)) == [SpeechStarted]
