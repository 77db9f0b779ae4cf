from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.telephony.silence_filler import LATE_S, OVERSLEPT_S, SilenceFiller

FRAME_S = 0.02


def after_a_second() -> SilenceFiller:
    filler = SilenceFiller()
    for number in range(1, 51):
        filler.took(FRAME_S, number * FRAME_S)
    return filler


def test_sound_that_comes_in_time_needs_no_filler():
    filler = after_a_second()
    assert filler.missing_s(1.0) == 0.0
    assert filler.missing_s(1.0 + LATE_S / 2) == 0.0


def test_before_the_first_sound_nothing_is_late():
    assert SilenceFiller().missing_s(100.0) == 0.0


def test_sound_that_is_late_is_made_up_for_to_the_moment():
    filler = after_a_second()
    assert filler.missing_s(1.5) == pytest.approx(0.5)
    assert filler.missing_s(1.5) == 0.0
    assert filler.missing_s(1.6) == pytest.approx(0.1)


def test_late_sound_is_taken_and_the_silence_is_taken_back_from_the_next_gap():
    filler = after_a_second()
    filler.missing_s(1.5)
    filler.took(0.5, 1.5)  # what was late, all at once: half a second too much has been taken
    assert filler.missing_s(1.9) == 0.0
    assert filler.missing_s(2.2) == pytest.approx(0.2)


def test_looks_again_when_sound_would_be_late_and_then_as_often():
    filler = after_a_second()
    assert filler.next_s(1.05) == pytest.approx(1.0 + LATE_S)
    assert filler.next_s(1.5) == pytest.approx(1.5 + LATE_S)


def test_sound_is_waited_for_as_long_again_when_the_server_itself_stood_still():
    """What came in the meantime is read after the look."""
    filler = after_a_second()
    woken_s = filler.next_s(1.0) + 2 * OVERSLEPT_S
    assert filler.missing_s(woken_s) == 0.0
    look_s = filler.next_s(woken_s)
    assert look_s == pytest.approx(woken_s + LATE_S)
    assert filler.missing_s(look_s) == pytest.approx(look_s - 1.0)


def test_a_server_that_is_a_little_late_does_not_wait_longer():
    filler = after_a_second()
    look_s = filler.next_s(1.0) + OVERSLEPT_S / 2
    assert filler.missing_s(look_s) == pytest.approx(look_s - 1.0)


@given(st.lists(st.floats(0.0, 2.0), max_size=40))
def test_no_more_is_ever_put_in_than_the_clock_has_run(gaps):
    filler, now_s, taken_s = SilenceFiller(), 0.0, 0.0
    for gap_s in gaps:
        filler.took(FRAME_S, now_s)
        taken_s += FRAME_S
        now_s += gap_s
        missing_s = filler.missing_s(now_s)
        assert missing_s >= 0
        taken_s += missing_s
        if missing_s:
            assert taken_s <= now_s + FRAME_S + 1e-6
