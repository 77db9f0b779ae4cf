"""A voice is noticed before it is speech: by its first voiced chunk, or by how loud it is."""

import pytest
from endpointing import CHUNK_S, CONFIG, SILENCE, VOICE, kinds, new_endpointer, play, times

from audio.endpoint import LOUD_NOTICE_S, NOTICE_S
from audio.interruption import LASTS_S, PERHAPS
from audio.speech_events import InterruptionCandidate, SpeechPaused, SpeechStarted, VoiceFaded, VoiceNoticed


def play_loud(endpointer, probability, seconds):
    """Push so much sound that is loud all the time, in chunks of 20 ms; returns the events."""
    events = []
    for number in range(1, round(seconds / CHUNK_S) + 1):
        events += endpointer.push(probability, CHUNK_S, loud_s=number * CHUNK_S)
    return events


def test_loud_sound_that_may_be_a_voice_is_told_to_last_once():
    endpointer = new_endpointer()
    endpointer.notice(0.0)
    assert play_loud(endpointer, PERHAPS, LASTS_S - CHUNK_S) == []
    assert play_loud(endpointer, PERHAPS, 0.5) == [VoiceNoticed(0.0, lasts=True)]


def test_loud_sound_that_is_no_voice_does_not_last():
    endpointer = new_endpointer()
    endpointer.notice(0.0)
    assert play_loud(endpointer, PERHAPS / 2, LOUD_NOTICE_S - CHUNK_S) == []


def test_loud_sound_fades_when_it_is_long_and_no_voice_after_all():
    endpointer = new_endpointer()
    endpointer.notice(0.0)
    *_, last = play_loud(endpointer, PERHAPS, LOUD_NOTICE_S + CHUNK_S)
    assert isinstance(last, VoiceFaded)


def test_the_speech_that_comes_of_it_is_no_second_notice():
    endpointer = new_endpointer()
    endpointer.notice(0.0)
    play_loud(endpointer, PERHAPS, 0.4)
    assert next(type(event) for event in play_loud(endpointer, VOICE, 0.1)) is SpeechStarted


def test_what_was_noticed_long_ago_lasts_with_the_first_voiced_chunk():
    endpointer = new_endpointer()
    endpointer.notice(0.0)
    assert play(endpointer, (SILENCE, LASTS_S)) == []
    assert play(endpointer, (VOICE, CHUNK_S)) == [VoiceNoticed(0.0, lasts=True)]


def test_a_voice_that_was_noticed_just_now_does_not_last_by_that():
    endpointer = new_endpointer()
    endpointer.notice(0.0)
    assert play(endpointer, (SILENCE, 0.04), (VOICE, CHUNK_S)) == []


def test_a_voice_is_noticed_with_its_first_chunk():
    endpointer = new_endpointer()
    play(endpointer, (SILENCE, 1))
    assert endpointer.push(VOICE, CHUNK_S) == [VoiceNoticed(pytest.approx(1.0))]


def test_a_blip_is_noticed_and_fades():
    events = play(new_endpointer(), (SILENCE, 1), (VOICE, 0.04), (SILENCE, 1))
    assert events == [VoiceNoticed(pytest.approx(1.0)), VoiceFaded(pytest.approx(1.04))]


def test_what_is_loud_is_noticed_and_fades_if_no_voice_comes():
    endpointer = new_endpointer()
    play(endpointer, (SILENCE, 1))
    assert endpointer.notice(0.97) == [VoiceNoticed(0.97)]
    assert play(endpointer, (SILENCE, NOTICE_S - 0.04)) == []
    assert play(endpointer, (SILENCE, 1)) == [VoiceFaded(pytest.approx(0.97 + NOTICE_S, abs=CHUNK_S))]


def test_a_voice_that_was_noticed_by_its_loudness_is_noticed_once():
    endpointer = new_endpointer()
    play(endpointer, (SILENCE, 1))
    endpointer.notice(0.99)
    assert [type(event) for event in play(endpointer, (SILENCE, 0.04), (VOICE, 0.1))] == [SpeechStarted]


def test_what_is_loud_within_a_turn_is_nothing():
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 0.2))
    assert endpointer.notice(0.2) == []
    play(endpointer, (SILENCE, 0.2))
    assert endpointer.notice(0.4) == []


def test_an_interruption_counts_from_where_the_voice_was_noticed():
    endpointer = new_endpointer()
    play(endpointer, (SILENCE, 1))
    endpointer.notice(0.98)
    events = play(endpointer, (SILENCE, 0.1), (VOICE, 0.4))
    assert kinds(events) == [SpeechStarted, InterruptionCandidate]
    assert times(events) == [1.1, 0.98 + CONFIG.interruption_candidate_s]


def test_within_a_turn_nothing_is_noticed_and_nothing_fades():
    events = play(new_endpointer(), (VOICE, 0.2), (SILENCE, 0.2), (VOICE, 0.04), (SILENCE, 0.02))
    assert [type(event) for event in events] == [VoiceNoticed, SpeechStarted, SpeechPaused]


def test_speech_that_is_loud_and_may_be_a_voice_is_a_candidate_in_its_pause():
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 0.1))
    events = play_loud(endpointer, PERHAPS, 0.2)
    assert kinds(events) == [SpeechPaused, InterruptionCandidate]
    assert times(events) == [0.1, 0.1]
    assert InterruptionCandidate not in kinds(play(endpointer, (VOICE, 0.5)))


def test_speech_that_is_loud_and_no_voice_is_no_candidate():
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 0.1))
    assert kinds(play_loud(endpointer, PERHAPS / 2, 0.2)) == [SpeechPaused]
