"""Silence in place of sound that a line does not send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.session.line_silence import (
    LATE_S,
    MAX_PATIENCE_S,
    OVERSLEPT_S,
    PAUSED_LATE_S,
    STEP_S,
    LineSilence,
)

FRAME_S = 0.02


def after_a_second(frame_s: float = FRAME_S) -> LineSilence:
    """Return a line that has sent sound in time for a second, with checks scheduled."""
    line = LineSilence()
    for number in range(1, round(1.0 / frame_s) + 1):
        line.add_audio(frame_s, number * frame_s)
    line.next_s(1.0)
    return line


def looked_after(line: LineSilence, from_s: float, until_s: float) -> float:
    """Return the silence inserted if each check runs at the time that the line asked for."""
    put_in_s, now_s = 0.0, line.next_s(from_s)
    while now_s <= until_s + 1e-9:
        put_in_s += line.missing_s(now_s)
        now_s = line.next_s(now_s)
    return put_in_s


def test_before_the_first_sound_nothing_is_missing() -> None:
    assert LineSilence().missing_s(100.0) == 0.0


def test_sound_that_comes_in_time_needs_no_silence() -> None:
    line = after_a_second()
    assert line.missing_s(1.0) == line.missing_s(1.0 + LATE_S) == 0.0


def test_a_line_that_stops_is_silent_from_its_last_sound_on() -> None:
    line = after_a_second()
    first_s = line.next_s(1.0)
    assert first_s == pytest.approx(1.0 + FRAME_S + LATE_S)
    assert line.missing_s(first_s) == pytest.approx(FRAME_S + LATE_S)
    assert line.next_s(first_s) == pytest.approx(first_s + STEP_S)
    assert looked_after(after_a_second(), 1.0, 2.0) == pytest.approx(1.0, abs=STEP_S)


def test_a_client_that_sends_second_by_second_is_waited_for_as_long_as_a_message_lasts() -> None:
    line = after_a_second(frame_s=1.0)
    assert looked_after(line, 1.0, 2.0) == 0.0
    line.add_audio(1.0, 2.0)
    assert looked_after(line, 2.0, 2.5) == 0.0


def test_sound_ahead_of_real_time_is_spoken_in_real_time_before_silence_begins() -> None:
    line = LineSilence()
    for _ in range(150):
        line.add_audio(FRAME_S, 10.0)  # three seconds of sound at once
    assert looked_after(line, 10.0, 12.9) == 0.0
    assert looked_after(line, 12.9, 14.0) == pytest.approx(1.0, abs=2 * STEP_S)


def test_what_a_caller_recorded_while_mute_and_sends_at_once_is_not_ahead() -> None:
    line = after_a_second()
    for _ in range(150):
        line.add_audio(FRAME_S, 9.0)
    assert line.next_s(9.0) == pytest.approx(9.0 + FRAME_S + LATE_S)


def test_a_lead_that_was_a_burst_of_the_network_is_forgotten() -> None:
    line = LineSilence()
    for _ in range(15):
        line.add_audio(FRAME_S, 0.0)
    assert line.next_s(0.0) > 0.3
    for number in range(1, 501):
        line.add_audio(FRAME_S, number * FRAME_S)
    assert line.next_s(10.0) == pytest.approx(10.0 + FRAME_S + LATE_S, abs=0.02)


def test_late_sound_is_told_once_and_waited_for_from_then_on() -> None:
    line = after_a_second()
    assert looked_after(line, 1.0, 1.4) > 0.0
    told = [line.add_audio(FRAME_S, 1.5) for _ in range(25)]
    assert [late_s for late_s in told if late_s] == [pytest.approx(0.5)]
    assert looked_after(line, 1.5, 2.0) == 0.0, "it was half a second late before"
    assert looked_after(line, 1.5, 3.0) > 0.0


def test_a_line_that_stood_still_for_long_does_not_delay_later_turns_for_as_long() -> None:
    line = after_a_second()
    looked_after(line, 1.0, 9.0)
    for _ in range(400):
        line.add_audio(FRAME_S, 9.0)
    assert line.next_s(9.0) <= 9.0 + FRAME_S + LATE_S + MAX_PATIENCE_S + 1e-9


def test_patience_with_a_line_that_is_in_time_again_passes() -> None:
    line = after_a_second()
    looked_after(line, 1.0, 1.4)
    for _ in range(25):
        line.add_audio(FRAME_S, 1.5)
    for number in range(1, 6_001):
        line.add_audio(FRAME_S, 1.5 + number * FRAME_S)
    assert line.next_s(121.5) == pytest.approx(121.5 + FRAME_S + LATE_S, abs=0.02)


def test_a_caller_who_was_mute_and_speaks_again_is_not_late() -> None:
    line = after_a_second()
    looked_after(line, 1.0, 1.4)
    assert not any(line.add_audio(FRAME_S, 1.5 + number * FRAME_S) for number in range(100))
    assert line.next_s(3.48) == pytest.approx(3.48 + FRAME_S + LATE_S)


def test_a_gap_that_the_line_reports_counts_once() -> None:
    """RTP timestamps give the length of a silence after it; most of it has been inserted by then."""
    line = after_a_second()
    put_in_s = looked_after(line, 1.0, 1.4)
    assert line.unfilled_s(0.38) == pytest.approx(max(0.0, 0.38 - put_in_s))
    assert line.unfilled_s(0.2) == pytest.approx(max(0.0, 0.58 - put_in_s)), "the next piece is not covered"


def test_a_gap_that_nothing_stood_in_for_is_left_as_it_is() -> None:
    assert after_a_second().unfilled_s(0.06) == 0.06


def test_behind_a_packet_within_a_silence_the_next_one_is_not_waited_for_as_long() -> None:
    line = after_a_second()
    looked_after(line, 1.0, 1.4)
    line.unfilled_s(0.38)
    line.add_audio(FRAME_S, 1.4)
    assert line.next_s(1.4) == pytest.approx(1.4 + FRAME_S + PAUSED_LATE_S)
    line.add_audio(FRAME_S, 1.42)
    assert line.next_s(1.42) == pytest.approx(1.42 + FRAME_S + LATE_S), "its voice is back"


def test_a_server_that_stood_still_reads_what_came_before_it_puts_silence_in() -> None:
    line = after_a_second()
    woken_s = line.next_s(1.0) + 2 * OVERSLEPT_S
    assert line.missing_s(woken_s) == 0.0
    assert line.missing_s(line.next_s(woken_s)) == pytest.approx(FRAME_S + LATE_S + STEP_S)


def test_a_server_that_is_a_little_late_does_not_wait_longer() -> None:
    line = after_a_second()
    look_s = line.next_s(1.0) + OVERSLEPT_S / 2
    assert line.missing_s(look_s) == pytest.approx(look_s - 1.0)


def test_a_line_that_was_left_alone_is_asked_again_without_being_late() -> None:
    line = after_a_second()
    line.rest()
    assert line.missing_s(5.0) == pytest.approx(4.0)


@given(st.lists(st.tuples(st.floats(0.0, 2.0), st.sampled_from([0.01, 0.02, 0.25])), max_size=40))
def test_sound_and_silence_never_run_ahead_of_the_clock_by_silence(gaps: list[tuple[float, float]]) -> None:
    """All inserted silence lies between two sounds, so its length is at most the time that has passed."""
    line, now_s = LineSilence(), 0.0
    for gap_s, frame_s in gaps:
        line.add_audio(frame_s, now_s)
        put_in_s = looked_after(line, now_s, now_s + gap_s)
        assert 0.0 <= put_in_s <= gap_s + 1e-6
        now_s += gap_s
