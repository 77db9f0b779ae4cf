"""The gate that withholds a voice while inference is paused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audio.speech_events import (
    SpeechEvent,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnEnded,
    VoiceNoticed,
)
from voiceagent.session.turn_detection import SpeechGate

STARTED = SpeechStarted(1.0, -20.0)


def test_voice_that_reaches_the_threshold_opens_the_gate_from_its_start():
    gate = SpeechGate(0.9)
    assert not gate.push([VoiceNoticed(1.0, -20.0), STARTED], 0.7)
    assert not gate.push([], 0.95)
    assert gate.push([], 0.9)
    assert gate.withheld == [STARTED]


def test_threshold_below_that_of_turn_detection_opens_without_a_turn():
    gate = SpeechGate(0.2)
    assert not gate.push([], 0.3)
    assert gate.push([], 0.3)
    assert gate.withheld == []


def test_click_of_one_window_opens_nothing():
    gate = SpeechGate(0.5)
    assert not any(gate.push([], probability) for probability in (0.9, 0.1, 0.9, None, 0.9))


def test_voice_that_ended_below_the_threshold_is_forgotten():
    gate = SpeechGate(0.9)
    gate.push([STARTED], 0.7)
    gate.push([SpeechPaused(1.5)], 0.1)
    gate.push([TurnEnded(1.5)], 0.1)
    assert gate.withheld == []


def test_only_a_pause_in_progress_is_told():
    gate = SpeechGate(0.9)
    for event in (STARTED, SpeechPaused(1.5), SpeechResumed(1.8), SpeechPaused(2.5)):
        gate.push([event], 0.7)
    assert gate.withheld == [STARTED, SpeechPaused(2.5)]


VOICES = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.floats(0, 1), min_size=1, max_size=5)), max_size=20
)


@given(VOICES, st.floats(0, 1))
def test_whatever_is_withheld_is_one_voice_from_its_start(
    pauses: list[tuple[int, list[float]]], threshold: float
):
    gate = SpeechGate(threshold)
    at_s = 0.0
    for count, probabilities in pauses:
        events: list[SpeechEvent] = [SpeechStarted(at_s)]
        for _ in range(count):
            events += [SpeechPaused(at_s), SpeechResumed(at_s)]
        events.append(SpeechPaused(at_s))
        for event, probability in zip(events, probabilities * len(events), strict=False):
            gate.push([event], probability)
        assert gate.withheld[0] == SpeechStarted(at_s)
        assert len(gate.withheld) <= 2
        gate.push([TurnEnded(at_s)], None)
        at_s += 1.0
