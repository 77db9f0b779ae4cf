"""Endpointing: probabilities and seconds in, the events of a turn out."""

from dataclasses import fields, replace

import pytest
from endpointing import (
    CHUNK_S,
    CONFIG,
    SILENCE,
    SILENCE_S,
    THRESHOLD,
    VOICE,
    kinds,
    new_endpointer,
    of_turns,
    play,
    times,
)
from hypothesis import given
from hypothesis import strategies as st

from audio.endpoint import EndpointConfig, Endpointer
from audio.speech_events import (
    InterruptionCandidate,
    InterruptionConfirmed,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnEnded,
)

BELOW_THE_THRESHOLD = 0.4


def test_silence_brings_no_event():
    assert play(new_endpointer(), (SILENCE, 10)) == []


def test_speech_starts_at_the_beginning_of_its_first_voiced_chunk():
    events = play(new_endpointer(), (SILENCE, 1), (VOICE, 0.2))
    assert kinds(events) == [SpeechStarted]
    assert times(events) == [1.0]


def test_a_blip_shorter_than_the_start_starts_nothing():
    assert kinds(play(new_endpointer(), *[(VOICE, 0.04), (SILENCE, 1)] * 2)) == []


def test_a_pause_lies_at_the_end_of_the_last_voiced_chunk():
    events = play(new_endpointer(), (SILENCE, 1), (VOICE, 0.2), (SILENCE, 1))
    assert kinds(events) == [SpeechStarted, SpeechPaused, TurnEnded]
    assert times(events) == [1.0, 1.2, 1.2]


def test_a_pause_is_reported_once_its_silence_is_reached():
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 0.2), (SILENCE, 0.08))
    assert kinds(endpointer.push(SILENCE, CHUNK_S)) == [SpeechPaused]


def test_the_turn_ends_once_its_silence_is_reached():
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 0.2), (SILENCE, 0.28))
    assert kinds(endpointer.push(SILENCE, CHUNK_S)) == [TurnEnded]


def test_a_gap_shorter_than_a_pause_is_part_of_speech():
    assert kinds(play(new_endpointer(), (VOICE, 0.2), (SILENCE, 0.08), (VOICE, 0.1))) == [SpeechStarted]


def test_voice_in_a_pause_resumes_speech_where_it_began():
    events = play(new_endpointer(), (VOICE, 0.2), (SILENCE, 0.2), (VOICE, 0.1))
    assert kinds(events) == [SpeechStarted, SpeechPaused, SpeechResumed]
    assert times(events)[2] == 0.4


def test_a_blip_in_a_pause_counts_as_silence():
    events = play(new_endpointer(), (VOICE, 0.2), (SILENCE, 0.2), (VOICE, 0.04), (SILENCE, 0.06))
    assert kinds(events) == [SpeechStarted, SpeechPaused, TurnEnded]
    assert times(events)[2] == 0.2


def test_a_turn_does_not_end_while_voice_may_be_resuming():
    events = play(new_endpointer(), (VOICE, 0.2), (SILENCE, 0.28), (VOICE, 0.1))
    assert kinds(events) == [SpeechStarted, SpeechPaused, SpeechResumed]


def test_no_voice_starts_below_the_threshold():
    assert play(new_endpointer(), (BELOW_THE_THRESHOLD, 1)) == []


def test_a_voice_goes_on_below_the_threshold():
    assert SpeechPaused not in kinds(play(new_endpointer(), (VOICE, 0.1), (BELOW_THE_THRESHOLD, 1)))


def test_a_voice_that_fell_silent_does_not_go_on_below_the_threshold():
    events = play(new_endpointer(), (VOICE, 0.1), (SILENCE, 0.02), (BELOW_THE_THRESHOLD, 1))
    assert SpeechPaused in kinds(events)


def test_voice_that_goes_on_is_reported_once():
    events = play(new_endpointer(), (SILENCE, 1), (VOICE, 2))
    assert kinds(events) == [SpeechStarted, InterruptionCandidate, InterruptionConfirmed]
    assert times(events)[1:] == [1.4, 1.6]


def test_a_short_pause_breaks_no_voice_off():
    events = play(new_endpointer(), (VOICE, 0.2), (SILENCE, 0.14), (VOICE, 0.1))
    assert kinds(events) == [SpeechStarted, SpeechPaused, SpeechResumed, InterruptionCandidate]
    assert times(events)[3] == 0.4


def test_a_voice_with_breaks_is_no_interruption():
    coughs = [(VOICE, 0.2), (SILENCE, 0.2)] * 4
    assert InterruptionCandidate not in kinds(play(new_endpointer(), *coughs))


def test_a_voice_may_interrupt_after_a_pause():
    events = play(new_endpointer(), (VOICE, 0.2), (SILENCE, 0.2), (VOICE, 1))
    assert kinds(events) == [
        SpeechStarted,
        SpeechPaused,
        SpeechResumed,
        InterruptionCandidate,
        InterruptionConfirmed,
    ]


def test_a_long_turn_has_no_cap():
    assert kinds(play(new_endpointer(), (VOICE, 120))) == [
        SpeechStarted,
        InterruptionCandidate,
        InterruptionConfirmed,
    ]


def test_the_next_turn_starts_afresh():
    turn = [(VOICE, 0.5), (SILENCE, 0.5)]
    one = kinds(play(new_endpointer(), *turn))
    assert kinds(play(new_endpointer(), *turn, *turn)) == one + one


@pytest.mark.parametrize(
    ("threshold", "silence_s", "named"),
    [(0.0, 0.3, "threshold"), (1.2, 0.3, "threshold"), (0.5, -1.0, "silence_s")],
)
def test_a_value_out_of_range_is_refused_by_name(threshold, silence_s, named):
    with pytest.raises(ValueError, match=named):
        Endpointer(CONFIG, threshold, silence_s)


@pytest.mark.parametrize("name", [field.name for field in fields(EndpointConfig)])
def test_a_config_out_of_range_is_refused_by_name(name):
    with pytest.raises(ValueError, match=name):
        replace(CONFIG, **{name: 0.0})


def by_model(silence_s: float = SILENCE_S) -> Endpointer:
    return Endpointer(CONFIG, THRESHOLD, silence_s, silence_by_model=True)


def test_by_the_model_a_turn_ends_in_whole_chunks_behind_the_first_that_is_no_voice():
    endpointer = by_model(silence_s=0.3)
    play(endpointer, (VOICE, 0.3))
    assert TurnEnded not in kinds(play(endpointer, (SILENCE, 0.3)))
    (ended,) = of_turns(play(endpointer, (SILENCE, 0.02)))
    assert ended == TurnEnded(pytest.approx(0.3), None, pytest.approx(0.62))


def test_by_the_model_a_voice_that_fell_counts_as_silence_only_once_the_model_says_so():
    """The loudness falls at 0.3 s, and the model detects a voice until 0.4 s."""
    for endpointer, ends_at_s in ((new_endpointer(0.3), 0.6), (by_model(0.3), 0.72)):
        play(endpointer, (VOICE, 0.3))
        for _ in range(5):
            endpointer.push(VOICE, CHUNK_S, fell=True)
        (ended,) = (event for event in play(endpointer, (SILENCE, 0.4)) if isinstance(event, TurnEnded))
        assert ended.silent_to_s == pytest.approx(ends_at_s)
        assert ended.at_s == pytest.approx(0.3)


def test_by_the_model_a_turn_does_not_end_in_a_chunk_that_may_be_a_voice_again():
    endpointer = by_model(silence_s=0.3)
    play(endpointer, (VOICE, 0.3), (SILENCE, 0.3))
    assert TurnEnded not in kinds(play(endpointer, (BELOW_THE_THRESHOLD, 0.1)))
    assert TurnEnded in kinds(play(endpointer, (SILENCE, 0.02)))


@given(st.lists(st.tuples(st.sampled_from([VOICE, SILENCE]), st.integers(1, 30)), max_size=20))
def test_by_the_model_no_turn_ends_that_the_loudness_would_have_let_go_on(runs: list[tuple[float, int]]):
    ends = []
    for endpointer in (new_endpointer(0.3), by_model(0.3)):
        events = play(endpointer, *((probability, count * CHUNK_S) for probability, count in runs))
        ends.append(sum(isinstance(event, TurnEnded) for event in events))
    assert ends[1] <= ends[0]
