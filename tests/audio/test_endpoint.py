"""Endpointing: probabilities and seconds in, events out."""

import math
import re
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.endpoint import (
    CAP_S,
    LINGER_S,
    LOUD_NOTICE_S,
    MAX_FADE_S,
    NOTICE_S,
    EndpointConfig,
    Endpointer,
)
from audio.interruption import LASTS_S, PERHAPS
from audio.speech_events import (
    InterruptionCandidate,
    InterruptionConfirmed,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnDue,
    TurnEnded,
    VoiceFaded,
    VoiceNoticed,
)

CONFIG = EndpointConfig(start_s=0.06, pause_s=0.1, interruption_candidate_s=0.4, interruption_confirmed_s=0.6)
THRESHOLD = 0.5
SILENCE_S = 0.3
CHUNK_S = 0.02
VOICE, SILENCE = 0.9, 0.1


def new_endpointer(silence_s=SILENCE_S):
    return Endpointer(CONFIG, THRESHOLD, silence_s)


def play(endpointer, *stretches):
    """Push stretches of (probability, seconds) in chunks of 20 ms; returns the events."""
    events = []
    for probability, seconds in stretches:
        for _ in range(round(seconds / CHUNK_S)):
            events += endpointer.push(probability, CHUNK_S)
    return events


def of_turns(events):
    return [event for event in events if not isinstance(event, VoiceNoticed | VoiceFaded)]


def kinds(events):
    return [type(event) for event in of_turns(events)]


def times(events):
    return [pytest.approx(event.at_s) for event in of_turns(events)]


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


def test_silence_brings_no_event():
    assert play(new_endpointer(), (SILENCE, 10)) == []


def test_speech_starts_at_the_beginning_of_its_first_voiced_chunk():
    events = play(new_endpointer(), (SILENCE, 1), (VOICE, 0.2))
    assert kinds(events) == [SpeechStarted]
    assert times(events) == [1.0]


def test_a_blip_shorter_than_the_start_starts_nothing():
    assert kinds(play(new_endpointer(), *[(VOICE, 0.04), (SILENCE, 1)] * 2)) == []


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


def test_voice_goes_on_below_the_threshold_but_does_not_start_there():
    between = 0.4
    assert play(new_endpointer(), (between, 1)) == []
    assert SpeechPaused not in kinds(play(new_endpointer(), (VOICE, 0.1), (between, 1)))
    assert SpeechPaused in kinds(play(new_endpointer(), (VOICE, 0.1), (SILENCE, 0.02), (between, 1)))


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


# ---- A voice that fell silent by its loudness, which the model says later ----


def fall(endpointer, seconds):
    """Push sound that is silent by its loudness, and a voice to the model."""
    chunks = range(round(seconds / CHUNK_S))
    return [event for _ in chunks for event in endpointer.push(VOICE, CHUNK_S, fell=True)]


def speaking():
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 0.3))
    return endpointer


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


def test_of_a_silence_that_is_over_it_is_said_at_once_unless_the_turn_ends():
    assert kinds(paused_for(0.28).require(0.2, more_s=0.2)) == [TurnDue]
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


# ---- Sound behind the last chunk ----


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


# ---- Over any sound ----

chunk = st.tuples(st.floats(0, 1), st.floats(0.001, 0.5))
stretch = st.tuples(st.sampled_from([VOICE, 0.4, SILENCE]), st.integers(1, 30).map(lambda n: n * 0.01))
sounds_of_a_model = st.lists(chunk | stretch, max_size=60)
fallen = (chunk | stretch).map(lambda heard: (*heard, True))
sounds = st.lists(chunk | stretch | fallen, max_size=60)
requirements = st.dictionaries(st.integers(0, 60), st.floats(0, 3), max_size=10)
LETTERS = {
    VoiceNoticed: "n",
    VoiceFaded: "f",
    SpeechStarted: "S",
    InterruptionCandidate: "i",
    InterruptionConfirmed: "I",
    SpeechPaused: "P",
    SpeechResumed: "R",
    TurnEnded: "E",
}


def watch(sound, required, ahead=frozenset()):
    """Yields (events, endpointer) after each chunk, with requirements made after some of them; ahead: those
    behind which the sound is silent for as long as the pause waits.
    """
    endpointer = new_endpointer()
    for index, heard in enumerate(sound):
        events = endpointer.push(*heard)
        if index in required:
            events += endpointer.require(required[index])
        if index in ahead:
            events += endpointer.silent_for(endpointer.due_in_s)
        yield events, endpointer


@given(sounds, requirements, st.sets(st.integers(0, 60)))
def test_events_come_in_the_order_of_a_turn(sound, required, ahead):
    order = "".join(LETTERS[type(event)] for events, _ in watch(sound, required, ahead) for event in events)
    voice = "i?I?"
    begun = f"(nf)*nS{voice}(PR{voice})*"
    assert re.fullmatch(rf"({begun}PE)*({begun}P?|(nf)*n?)", order)
    assert all(told.count("i") <= 1 and told.count("I") <= 1 for told in order.split("E"))


@given(sounds, requirements)
def test_times_never_go_back_and_never_lie_in_the_future(sound, required):
    last_s = 0.0
    for events, endpointer in watch(sound, required):
        for event in events:
            assert last_s - 1e-9 <= event.at_s <= endpointer.now_s + 1e-9
            last_s = event.at_s


@given(sounds)
def test_a_turn_ends_only_after_its_silence(sound):
    for events, endpointer in watch(sound, {}):
        for event in events:
            if isinstance(event, TurnEnded):
                assert endpointer.now_s - event.at_s >= SILENCE_S - 1e-5


@given(sounds)
def test_no_turn_outlasts_its_silence_by_more_than_a_blip(sound):
    """Wherever the sound stops, the cap and the start bound how long a turn stays open."""
    endpointer = new_endpointer()
    events = [event for heard in sound for event in endpointer.push(*heard)]
    events += play(endpointer, (SILENCE, SILENCE_S + CHUNK_S))
    assert not of_turns(events) or isinstance(of_turns(events)[-1], TurnEnded)


@given(sounds_of_a_model, st.data())
def test_cutting_a_chunk_in_two_changes_nothing(sound, data):
    cut = []
    for probability, seconds in sound:
        part = data.draw(st.floats(0.1, 0.9))
        cut += [(probability, seconds * part), (probability, seconds * (1 - part))]
    whole = [event for events, _ in watch(sound, {}) for event in events]
    parts = [event for events, _ in watch(cut, {}) for event in events]
    assert kinds(parts) == kinds(whole)
    assert times(parts) == times(whole)
