"""Properties of the endpointer's events over any sound."""

import re

from endpointing import (
    CHUNK_S,
    SILENCE,
    SILENCE_S,
    VOICE,
    kinds,
    new_endpointer,
    of_turns,
    play,
    times,
)
from hypothesis import given
from hypothesis import strategies as st

from audio.speech_events import (
    InterruptionCandidate,
    InterruptionConfirmed,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnEnded,
    VoiceFaded,
    VoiceNoticed,
)

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
