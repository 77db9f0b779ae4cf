from __future__ import annotations

import numpy as np
import pytest
from yielding.loudspeaker import Loudspeaker

LOUD = np.full(480, 8_000, np.int16)
LOWERED = np.full(480, 1_400, np.int16)


def played(*frames: tuple[np.ndarray, float]) -> Loudspeaker:
    loudspeaker = Loudspeaker()
    for frame, at_s in frames:
        loudspeaker.play(frame, at_s)
    return loudspeaker


def test_frames_that_come_early_are_played_one_after_the_other():
    assert played((LOUD, 1.0), (LOUD, 1.0), (LOUD, 1.5)).begins_s == pytest.approx([1.0, 1.02, 1.5])


def test_the_agent_is_silent_when_what_was_sent_has_been_played():
    loudspeaker = played((LOUD, 1.0), (LOUD, 1.0), (LOUD, 1.0))
    assert loudspeaker.silent_s(1.01) == pytest.approx(1.06)


def test_a_frame_that_comes_late_is_no_silence():
    loudspeaker = played((LOUD, 1.0), (LOUD, 1.1), (LOUD, 1.2))
    assert loudspeaker.silent_s(1.0) == pytest.approx(1.22)


def test_a_pause_that_ended_before_does_not_count():
    loudspeaker = played((LOUD, 1.0), (LOUD, 2.0))
    assert loudspeaker.silent_s(1.1) == pytest.approx(1.1)
    assert loudspeaker.silent_s(2.0) == pytest.approx(2.02)


def test_what_is_cleared_is_not_heard():
    loudspeaker = played((LOUD, 1.0), (LOUD, 1.0), (LOUD, 1.0))
    loudspeaker.clear(1.03)
    assert loudspeaker.begins_s == pytest.approx([1.0, 1.02])
    assert loudspeaker.silent_s(1.0) == pytest.approx(1.03)


def test_the_voice_is_lowered_from_the_first_frame_with_less_energy():
    loudspeaker = played((LOUD, 1.0), (LOUD, 1.02), (LOWERED, 1.04), (LOWERED, 1.06))
    assert loudspeaker.lowered_s(1.01, [LOUD] * 4) == pytest.approx(1.04)


def test_a_pause_of_the_agents_own_is_not_its_being_lowered():
    quiet = np.zeros(480, np.int16)
    loudspeaker = played((LOUD, 1.0), (quiet, 1.02), (LOUD, 1.04))
    assert loudspeaker.lowered_s(1.0, [LOUD, quiet, LOUD]) == pytest.approx(1.06)


def test_a_voice_lowered_in_its_pause_was_last_loud_before_it():
    quiet = np.zeros(480, np.int16)
    loudspeaker = played((LOUD, 1.0), (LOUD, 1.02), (quiet, 1.04), (quiet, 1.06), (LOWERED, 1.08))
    assert loudspeaker.lowered_s(1.01, [LOUD, LOUD, quiet, quiet, LOUD]) == pytest.approx(1.04)
