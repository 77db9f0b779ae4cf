"""The agent's newest audio by its position in the caller's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.speech_events import SpeechStarted
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.config import EchoConfig
from voiceagent.session.echo_control import EchoControl
from voiceagent.session.played_audio import KEPT_S, PlayedAudio

RATE_HZ = 1_000
FRAME = 20


def frames(count: int, first: int = 1) -> list[np.ndarray]:
    """Frames of 20 ms whose samples count up."""
    whole = np.arange(first, first + count * FRAME).astype(np.int16)
    return [whole[at : at + FRAME] for at in range(0, len(whole), FRAME)]


def test_frames_sent_ahead_are_played_one_after_the_other():
    played = PlayedAudio(RATE_HZ)
    for frame in frames(3):
        played.play(frame, 1.0, "resp")
    assert played.between(1.0, 1.06).tolist() == list(range(1, 61))
    name, played_s = played.position(1.03)
    assert name == "resp" and round(played_s, 3) == 0.03


@given(st.floats(0.0, 0.2), st.floats(0.0, 0.3))
def test_silence_stands_where_nothing_was_played(from_s: float, seconds: float):
    played = PlayedAudio(RATE_HZ)
    for frame in frames(5):
        played.play(frame, 0.1, "resp")
    sound = played.between(from_s, from_s + seconds)
    begin = round((0.1 - from_s) * RATE_HZ)
    for index, sample in enumerate(sound.tolist()):
        at = index - begin
        assert sample == (at + 1 if 0 <= at < 100 else 0)


def test_what_was_dropped_was_not_played():
    played = PlayedAudio(RATE_HZ)
    for frame in frames(5):
        played.play(frame, 0.0, "resp")
    played.drop(0.04)
    assert played.end_s == 0.04
    assert not played.between(0.04, 0.1).any()


def test_a_position_after_the_response_counts_its_silence():
    played = PlayedAudio(RATE_HZ)
    played.play(frames(1)[0], 1.0, "resp")
    played.play(frames(1)[0], 1.1, "")
    name, played_s = played.position(1.5)
    assert name == "resp" and round(played_s, 3) == 0.5
    assert played.position(0.9) == ("", 0.0)


def test_old_audio_is_forgotten():
    played = PlayedAudio(RATE_HZ)
    for number, frame in enumerate(frames(round(2 * KEPT_S / 0.02))):
        played.play(frame, number * 0.02, "resp")
    assert not played.between(0.0, 1.0).any()
    assert played.between(2 * KEPT_S - 1, 2 * KEPT_S).all()


def test_audio_dropped_within_a_stretch_leaves_its_beginning():
    played = PlayedAudio(RATE_HZ)
    for frame in frames(5):
        played.play(frame, 0.0, "resp")
    played.drop(0.05)
    assert played.between(0.0, 0.1).tolist() == [*range(1, 51), *[0] * 50]
    name, played_s = played.position(0.04)
    assert name == "resp" and round(played_s, 3) == 0.04


def test_a_response_goes_on_after_a_sound_between():
    played = PlayedAudio(RATE_HZ)
    played.play(frames(1)[0], 0.0, "resp")
    played.play(frames(1)[0], 0.02, "")
    played.play(frames(1)[0], 0.04, "resp")
    name, played_s = played.position(0.05)
    assert name == "resp" and round(played_s, 3) == 0.03


def test_the_position_in_a_long_response_is_exact_after_its_old_audio_is_forgotten():
    played = PlayedAudio(RATE_HZ)
    for number, frame in enumerate(frames(round(4 * KEPT_S / 0.02))):
        played.play(frame, number * 0.02, "resp")
    name, played_s = played.position(4 * KEPT_S - 0.01)
    assert name == "resp" and round(played_s, 3) == round(4 * KEPT_S - 0.01, 3)


def test_released_audio_is_silence_and_its_response_is_still_known():
    played = PlayedAudio(RATE_HZ)
    played.play(frames(1)[0], 1.0, "resp")
    played.release()
    assert not played.between(0.0, 2.0).any()
    name, played_s = played.position(4.0)
    assert name == "resp" and round(played_s, 3) == 3.0


@pytest.mark.parametrize(("silent_s", "kept"), [(KEPT_S - 0.1, True), (KEPT_S + 0.1, False)])
def test_audio_is_released_when_the_caller_speaks_long_after_it(
    monkeypatch: pytest.MonkeyPatch, silent_s: float, kept: bool
):
    released: list[PlayedAudio] = []

    def release(played: PlayedAudio) -> None:
        released.append(played)

    monkeypatch.setattr(PlayedAudio, "release", release)
    control = EchoControl(EchoConfig(), CallSettings("", 0.0, None))
    control.play(frames(1)[0], 1.0, "resp")
    control.on_speech_event(SpeechStarted(1.0 + silent_s))
    assert bool(released) is not kept
