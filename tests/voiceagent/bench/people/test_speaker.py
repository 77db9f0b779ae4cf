from __future__ import annotations

import numpy as np
import pytest
from people.calls import LEAD_FRAMES, PATIENCE_S, Speaker
from people.material import Clip

from voiceagent.transports.local_call import FORMAT

CLIP = Clip("clip", np.zeros(2 * FORMAT.rate_hz, np.int16), "go on", "question", voice_end_s=1.5)
LEAD_S = LEAD_FRAMES * 0.02
TONE = np.full(480, 5_000, np.int16)
QUIET = np.zeros(480, np.int16)


class Line:
    """A speaker and the time."""

    def __init__(self, tells: bool = True) -> None:
        self.now_s = 100.0
        self.speaker = Speaker(CLIP, [b"voice"] * 100, b"silence", self.now_s, lambda: self.now_s, tells)

    def hears(self, at_s: float, frames: int) -> None:
        """Frames of a tone one after the other, from `at_s` of the recording on."""
        for index in range(frames):
            self.now_s = 100.0 + LEAD_S + at_s + index * 0.02
            self.speaker.hear(self.now_s, TONE)


def test_the_recording_is_spoken_once_between_silence() -> None:
    line = Line()
    frames = [line.speaker.frame(100.0) for _ in range(LEAD_FRAMES + 101)]
    assert frames == [b"silence"] * LEAD_FRAMES + [b"voice"] * 100 + [b"silence"]


def test_sound_is_heard_from_its_first_audible_sample_and_in_pieces() -> None:
    line = Line()
    line.speaker.hear(100.0 + LEAD_S, QUIET)
    line.hears(0.5, frames=10)
    line.hears(1.7, frames=60)
    sounds = line.speaker.outcome("").sounds
    assert [(sound.begin_s, sound.seconds) for sound in sounds] == [
        (pytest.approx(0.5), pytest.approx(0.2)),
        (pytest.approx(1.7), pytest.approx(1.2)),
    ]


def test_what_was_cut_is_not_heard() -> None:
    line = Line()
    for _ in range(50):  # sent at once, to be played for a second
        line.speaker.hear(100.0 + LEAD_S, TONE)
    line.speaker.cleared(100.0 + LEAD_S + 0.3)
    (sound,) = line.speaker.outcome("").sounds
    assert sound.seconds == pytest.approx(0.3)


def test_a_call_ends_after_the_answer_or_without_one() -> None:
    line = Line()
    assert not line.speaker.finished
    line.now_s = 100.0 + LEAD_S + 2.0 + PATIENCE_S - 0.1
    assert not line.speaker.finished
    line.now_s += 0.2
    assert line.speaker.finished
    answered = Line()
    answered.hears(1.8, frames=55)
    assert answered.speaker.finished


def test_a_protocol_that_tells_nothing_leaves_decisions_and_words_unknown() -> None:
    told, silent = Line().speaker.outcome(""), Line(tells=False).speaker.outcome("lost")
    assert (told.decided_s, told.texts, told.failures) == ((), (), ())
    assert (silent.decided_s, silent.texts, silent.failures) == (None, None, ("lost",))
