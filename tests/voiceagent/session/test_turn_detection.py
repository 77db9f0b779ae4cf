"""Detection of pauses, from the models' output for each window."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from audio.detection.front_end_stream import Window
from audio.loudness_fall import LoudnessFall
from audio.speech_events import SpeechEvent, SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from voiceagent.conversation.config import TurnConfig
from voiceagent.session.turn_detection import ENDED, WINDOW_S, TurnDetector

LOUD, LOW = (1e6,) * 4, (1.0,) * 4
SPOKEN = Window(np.zeros(512, np.int16), LOUD, 0.99, 0.0, 0.0)


def ended(ago_s: float, probability: float = 0.99, energies: tuple[float, ...] = LOUD) -> Window:
    return Window(np.zeros(512, np.int16), energies, probability, ENDED, ago_s)


class Detector(TurnDetector):
    """Turn detector of a call with immediate transcripts that require 0.2 s of silence in each pause."""

    def __init__(self) -> None:
        turn = TurnConfig(detection="semantic_vad")
        super().__init__(turn.to_endpointing(), turn.to_detection())

    def push(self, window: Window, received_s: float) -> list[SpeechEvent]:
        events = super().push(window, received_s)
        if any(isinstance(event, SpeechPaused) for event in events):
            events += self.require_silence(0.2, 0.0)
        return events


def paused(quiet: Window, windows: int) -> TurnDetector:
    """Behind a voice of ten windows, and a pause of so many."""
    detector = Detector()
    for window in [quiet] * 4 + [SPOKEN] * 10 + [quiet] * windows:
        detector.push(window, 0.0)
    return detector


def told(*windows: Window, by: TurnDetector | None = None) -> list[tuple[float, SpeechEvent]]:
    """Return the events, with the time of each."""
    detector = by or Detector()
    events = []
    for count, window in enumerate(windows, 1):
        events += [(count * WINDOW_S, event) for event in detector.push(window, count * WINDOW_S)]
    return events


def kinds(events: list[tuple[float, SpeechEvent]]) -> list[type]:
    return [type(event) for _, event in events if isinstance(event, TURNS)]


TURNS = (SpeechStarted, SpeechPaused, SpeechResumed, TurnEnded)


def lingers(windows: int) -> list[Window]:
    """A voice has ended, and the model of speech hears it on."""
    return [ended(0.02 + WINDOW_S * number, energies=LOW) for number in range(windows)]


def test_a_pause_is_told_some_time_behind_a_voice_though_the_model_of_speech_hears_it_on():
    events = told(*[SPOKEN] * 10, *lingers(4))
    assert kinds(events) == [SpeechStarted, SpeechPaused]
    assert events[-1][0] == pytest.approx(13 * WINDOW_S)  # 0.084 s behind it, 0.052 a window before


def test_where_the_model_of_speech_hears_no_voice_either_a_pause_is_told_at_once():
    events = told(*[SPOKEN] * 10, ended(0.02, probability=0.1))
    assert kinds(events) == [SpeechStarted, SpeechPaused]


def test_a_sound_at_once_behind_a_voice_is_still_its_own():
    assert kinds(told(*[SPOKEN] * 10, *lingers(2), SPOKEN)) == [SpeechStarted]


def test_a_turn_does_not_end_before_the_model_of_speech_hears_no_voice_either():
    assert kinds(told(*[SPOKEN] * 10, *lingers(7))) == [SpeechStarted, SpeechPaused]
    assert kinds(told(*[SPOKEN] * 10, *lingers(7), ended(0.3, 0.1)))[-1] is TurnEnded


def test_a_voice_that_has_not_ended_after_all_goes_on():
    events = told(*[SPOKEN] * 10, *lingers(4), SPOKEN)
    assert kinds(events) == [SpeechStarted, SpeechPaused, SpeechResumed]


def test_a_pause_begins_where_the_network_has_it_or_where_the_voice_was_last_loud_whichever_is_later():
    was_loud = told(*[SPOKEN] * 10, *[ended(0.2, energies=LOW)] * 4)[-1][1]
    low = [SPOKEN._replace(energies=LOW)] * 4
    low_for_long = told(*[SPOKEN] * 9, *low, ended(0.12, energies=LOW))[-1][1]
    assert isinstance(was_loud, SpeechPaused)
    assert isinstance(low_for_long, SpeechPaused)
    assert was_loud.at_s == pytest.approx(10 * WINDOW_S, abs=0.019)
    assert low_for_long.at_s == pytest.approx(14 * WINDOW_S - 0.12, abs=0.019)


def test_where_a_voice_ended_is_asked_once_in_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(LoudnessFall, "ended_ago_s", lambda _: asked.append(1) or 0.0)
    fading = SPOKEN._replace(energies=LOUD[:2] + LOW[:2])  # the closure of a consonant
    events = told(*[SPOKEN] * 10, fading, *[QUIET] * 5)
    assert kinds(events) == [SpeechStarted, SpeechPaused]
    assert len(asked) == 1


QUIET = ended(0.0, probability=0.01, energies=LOW)


def test_a_silence_is_over_between_two_windows_where_it_is_as_long_as_was_asked_for() -> None:
    detector = paused(QUIET, 6)
    assert detector.due_in_s == pytest.approx(0.2 - 6 * WINDOW_S)
    (event,) = detector.look_ahead(LOW[:1])
    assert event == TurnEnded(
        pytest.approx(14 * WINDOW_S), pytest.approx(-30.3), pytest.approx(14 * WINDOW_S + 0.2)
    )


def test_what_is_due_behind_another_window_waits_for_that() -> None:
    detector = paused(QUIET, 5)
    assert detector.due_in_s == math.inf


def test_where_sound_behind_the_last_window_is_loud_the_next_one_decides() -> None:
    detector = paused(QUIET, 6)
    assert detector.look_ahead(LOUD[:1]) == []
    assert kinds([(0.0, event) for event in detector.push(QUIET, 0.0)]) == [TurnEnded]


def test_a_turn_that_is_taken_by_hand_is_never_due() -> None:
    turn = TurnConfig()
    assert TurnDetector(turn.to_endpointing(), None).due_in_s == math.inf


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_a_turn_begins_and_ends_whatever_threshold_and_silence_a_client_asks_for(threshold: float):
    turn = TurnConfig(detection="server_vad")
    detection = replace(turn.to_detection(), threshold=threshold, silence_s=0.0)
    detector = TurnDetector(turn.to_endpointing(), detection)
    silence, voice = (
        Window(np.zeros(512, np.int16), LOW, 0.0, 0.0, 0.0),
        Window(np.zeros(512, np.int16), LOUD, 1.0, 0.0, 0.0),
    )
    events = [
        event
        for window in [silence] * 4 + [voice] * 10 + [silence] * 10
        for event in detector.push(window, 0.0)
    ]
    assert [type(event) for event in events if isinstance(event, SpeechStarted | TurnEnded)] == [
        SpeechStarted,
        TurnEnded,
    ]


# ---- server_vad: the speech model counts the silence, in its windows


def by_server_vad(silence_s: float = 0.2) -> TurnDetector:
    turn = TurnConfig(detection="server_vad", silence_s=silence_s)
    return TurnDetector(turn.to_endpointing(), turn.to_detection())


def test_with_server_vad_a_dip_in_loudness_that_the_model_of_speech_bridges_is_no_silence() -> None:
    """A sentence with 0.16 s of near silence before its verb; the model detects at most 0.1 s of it."""
    dip = [*lingers(2), *[QUIET] * 3]
    events = told(*[SPOKEN] * 10, *dip, *[SPOKEN] * 10, by=by_server_vad())
    assert TurnEnded not in kinds(events)
    assert TurnEnded in kinds(told(*[SPOKEN] * 10, *lingers(2), *[QUIET] * 8, by=by_server_vad()))


def test_with_server_vad_silence_counts_from_the_first_window_that_is_no_voice() -> None:
    """As in Silero's `VADIterator` and OpenAI's recordings: eight windows for 0.2 s, 17 for 0.5 s."""
    for silence_s, windows in ((0.2, 8), (0.5, 17)):
        events = told(*[SPOKEN] * 10, *lingers(3), *[QUIET] * 20, by=by_server_vad(silence_s))
        told_s, ended_turn = events[-1]
        assert isinstance(ended_turn, TurnEnded)
        assert told_s == pytest.approx((13 + windows) * WINDOW_S)
        assert ended_turn.silent_to_s == pytest.approx(told_s)
        assert ended_turn.at_s < 12 * WINDOW_S, "the end of the voice itself is where its loudness fell"


def test_with_server_vad_a_single_voiced_window_begins_the_silence_anew() -> None:
    events = told(*[SPOKEN] * 10, *[QUIET] * 6, SPOKEN, *[QUIET] * 7, by=by_server_vad())
    assert TurnEnded not in kinds(events)


def test_with_server_vad_the_pause_is_told_as_soon_as_ever() -> None:
    windows = [*[SPOKEN] * 10, *lingers(4)]
    assert told(*windows, by=by_server_vad()) == told(*windows)


def test_with_server_vad_no_sound_is_looked_at_before_the_model_has_judged_it() -> None:
    detector = by_server_vad()
    told(*[SPOKEN] * 10, *[QUIET] * 7, by=detector)
    assert detector.due_in_s == math.inf


def test_positions_behind_sound_that_was_not_judged_are_those_of_the_call() -> None:
    detector = by_server_vad()
    unjudged = QUIET._replace(probability=None)
    events = told(*[unjudged] * 5, *[SPOKEN] * 10, *[QUIET] * 8, by=detector)
    assert isinstance(ended_turn := events[-1][1], TurnEnded)
    assert ended_turn.silent_to_s == pytest.approx(23 * WINDOW_S)


# ---- times at which silence would change anything


def test_silence_is_awaited_from_a_voice_that_is_noticed_to_the_turns_end() -> None:
    detector = Detector()
    told(*[QUIET] * 4, by=detector)
    assert not detector.awaits_silence
    told(SPOKEN, by=detector)
    assert detector.awaits_silence, "what was noticed may have lowered the agent's voice"
    told(QUIET, by=detector)
    assert not detector.awaits_silence
    told(*[SPOKEN] * 10, *[QUIET] * 3, by=detector)
    assert detector.awaits_silence
    told(*[QUIET] * 10, by=detector)
    assert not detector.awaits_silence


def test_no_silence_is_awaited_where_the_client_takes_turns_by_hand() -> None:
    detector = TurnDetector(TurnConfig().to_endpointing(), None)
    told(*[SPOKEN] * 10, by=detector)
    assert not detector.awaits_silence
