"""Speech has its time in the recording; actions have the clock's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.calls.log.placement import Placement
from voiceagent.calls.log.time_axis import Moment, TimeAxis

RATE_HZ = 1_000
FRAME = 20
BEGAN_S = 100.0

PHASES = st.lists(st.tuples(st.integers(1, 60), st.floats(0.0, 6.0)), min_size=1, max_size=8)
"""So many frames in real time, and then so many seconds of nothing."""


def called(phases: list[tuple[int, float]]) -> tuple[TimeAxis, np.ndarray, list[tuple[float, float]]]:
    """A call recorded: its axis, the caller's side, and (clock, received) of a record behind each frame."""
    placement, axis = Placement(RATE_HZ, BEGAN_S), TimeAxis(BEGAN_S)
    axis.recorded(RATE_HZ)
    clock_s, spoken, parts, records = BEGAN_S, 0, [], []

    def write() -> None:
        parts.append(placement.pop_settled(clock_s)[1])
        for silence in placement.take_silences():
            axis.silent(silence.since, silence.until)

    for frames, silent_s in phases:
        for _ in range(frames):
            clock_s += FRAME / RATE_HZ
            frame = np.arange(spoken + 1, spoken + FRAME + 1, dtype=np.int16)
            placement.place([(clock_s, "", frame, RATE_HZ)])
            spoken += FRAME
            axis.record(clock_s, spoken / RATE_HZ)
            records.append((clock_s, spoken / RATE_HZ))
            write()
        clock_s += silent_s
        write()
    parts.append(placement.finish()[1])
    for silence in placement.take_silences():
        axis.silent(silence.since, silence.until)
    return axis, np.concatenate(parts)[:, 0], records


@given(PHASES)
def test_what_was_said_stands_where_the_recording_has_it(phases: list[tuple[int, float]]):
    axis, caller, _ = called(phases)
    for sample in range(0, int(caller.max()), 7):
        (at,) = np.flatnonzero(caller == sample + 1)
        assert axis.place(Moment(0.0, sample / RATE_HZ)) == pytest.approx(at / RATE_HZ, abs=2 / RATE_HZ)


@given(PHASES, st.lists(st.floats(BEGAN_S - 1, BEGAN_S + 60), min_size=2, max_size=30))
def test_what_was_done_later_stands_no_earlier(phases: list[tuple[int, float]], clocks_s: list[float]):
    axis, _, _ = called(phases)
    places = [axis.place(Moment(clock_s)) for clock_s in sorted(clocks_s)]
    assert places == sorted(places)
    assert places[0] >= 0


@given(PHASES)
def test_what_is_done_when_sound_comes_stands_at_the_end_of_that_sound(phases: list[tuple[int, float]]):
    axis, _, records = called(phases)
    for clock_s, received_s in records:
        last = axis.place(Moment(clock_s, received_s - 1 / RATE_HZ))
        assert axis.place(Moment(clock_s)) == pytest.approx(last, abs=2 / RATE_HZ)


def test_a_call_without_a_recording_has_the_clock():
    axis = TimeAxis(BEGAN_S)
    axis.record(102.0, 0.5)
    assert axis.place(Moment(103.5, 0.25)) == 3.5
    assert axis.place(Moment(99.0)) == 0.0
