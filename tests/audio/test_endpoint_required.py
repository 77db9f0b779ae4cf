"""Length of the silence that a pause requires, and its end between two chunks."""

import math

import pytest
from endpointing import CHUNK_S, SILENCE, VOICE, kinds, new_endpointer, play, speaking, times

from audio.endpoint import CAP_S
from audio.speech_events import SpeechPaused, SpeechResumed, SpeechStarted, TurnDue, TurnEnded


def paused_for(seconds):
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 0.2), (SILENCE, seconds))
    return endpointer


def test_a_pause_may_be_told_to_wait_longer():
    endpointer = paused_for(0.2)
    assert endpointer.require(1.0) == []
    assert play(endpointer, (SILENCE, 0.78)) == []
    assert kinds(play(endpointer, (SILENCE, 0.02))) == [TurnEnded]


def test_a_pause_told_to_go_on_beyond_its_silence_says_once_when_that_is_over():
    endpointer = paused_for(0.2)
    assert endpointer.require(0.4, more_s=0.2) == []
    assert play(endpointer, (SILENCE, 0.18)) == []
    events = play(endpointer, (SILENCE, 0.2))
    assert (kinds(events), times(events)) == ([TurnDue], [0.2])
    assert kinds(play(endpointer, (SILENCE, 0.02))) == [TurnEnded]


def test_a_turn_whose_silence_is_over_is_due_at_once():
    assert kinds(paused_for(0.28).require(0.2, more_s=0.2)) == [TurnDue]


def test_a_turn_whose_whole_wait_is_over_ends_and_is_not_due_before():
    assert kinds(paused_for(0.28).require(0.1, more_s=0.1)) == [TurnEnded]


def test_a_silence_that_is_asked_for_alone_is_told_by_the_turns_end():
    endpointer = paused_for(0.2)
    endpointer.require(0.4, more_s=0.2)
    endpointer.require(0.4)
    assert kinds(play(endpointer, (SILENCE, 0.2))) == [TurnEnded]


def test_a_pause_whose_silence_is_declared_enough_ends_the_turn_at_once():
    endpointer = paused_for(0.2)
    assert kinds(endpointer.require(0.15)) == [TurnEnded]
    assert play(endpointer, (SILENCE, 2)) == []


def test_no_pause_waits_longer_than_the_cap():
    endpointer = paused_for(0.2)
    endpointer.require(30)
    assert play(endpointer, (SILENCE, CAP_S - 0.22)) == []
    assert kinds(play(endpointer, (SILENCE, 0.02))) == [TurnEnded]


def test_the_cap_does_not_shorten_the_configured_silence():
    endpointer = new_endpointer(silence_s=CAP_S + 1.0)
    play(endpointer, (VOICE, 0.2), (SILENCE, 0.2))
    endpointer.require(CAP_S + 1.0)
    assert play(endpointer, (SILENCE, CAP_S + 0.78)) == []
    assert kinds(play(endpointer, (SILENCE, 0.02))) == [TurnEnded]


def test_the_silence_set_for_a_pause_is_forgotten_when_speech_resumes():
    endpointer = paused_for(0.2)
    endpointer.require(1.0)
    events = play(endpointer, (VOICE, 0.1), (SILENCE, 0.3))
    assert kinds(events) == [SpeechResumed, SpeechPaused, TurnEnded]


def test_outside_a_pause_nothing_can_be_required():
    endpointer = new_endpointer()
    assert endpointer.require(1.0) == []
    assert kinds(play(endpointer, (VOICE, 0.2), (SILENCE, 0.3))) == [SpeechStarted, SpeechPaused, TurnEnded]


def test_a_requirement_does_not_end_a_turn_that_may_be_resuming():
    endpointer = paused_for(0.2)
    endpointer.push(VOICE, CHUNK_S)
    assert endpointer.require(0.1) == []
    assert kinds(play(endpointer, (VOICE, 0.04))) == [SpeechResumed]


def test_a_turn_ends_between_two_chunks_where_its_silence_is_over():
    endpointer = paused_for(0.28)
    endpointer.require(0.29)
    assert endpointer.due_in_s == pytest.approx(0.01)
    assert endpointer.silent_for(0.009) == []
    events = endpointer.silent_for(endpointer.due_in_s)
    assert (kinds(events), times(events)) == ([TurnEnded], [0.2])
    assert play(endpointer, (SILENCE, 2)) == []


def test_a_turn_is_due_between_two_chunks_too_and_ends_later():
    endpointer = paused_for(0.2)
    endpointer.require(0.21, more_s=0.2)
    assert kinds(endpointer.silent_for(endpointer.due_in_s)) == [TurnDue]
    assert endpointer.due_in_s == pytest.approx(0.21)
    assert kinds(play(endpointer, (SILENCE, 0.22))) == [TurnEnded]


def test_no_silence_is_due_outside_a_pause_nor_while_the_voice_may_be_back():
    endpointer = paused_for(0.2)
    endpointer.push(VOICE, CHUNK_S)
    for waiting in (new_endpointer(), speaking(), endpointer):
        assert waiting.due_in_s == math.inf
        assert waiting.silent_for(CAP_S) == []
