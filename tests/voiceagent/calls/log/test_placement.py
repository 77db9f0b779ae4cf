"""Both sides of a call stand in its recording where they were heard, by the caller's sound and no clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.playout import Playout
from voiceagent.calls.log.placement import Placement
from voiceagent.conversation.call_events import BACKGROUND

RATE_HZ = 8_000
FRAME = 160
"""20 ms."""
FRAME_S = FRAME / RATE_HZ


class Recorded:
    """A call that is recorded, on a virtual clock of its own."""

    def __init__(self) -> None:
        self.placement = Placement(RATE_HZ, 0.0)
        self.clock_s = 0.0
        self.parts: list[np.ndarray] = []
        self.spoken = 0

    def hear(self, samples: np.ndarray) -> None:
        self.placement.place([(self.clock_s, "", samples, RATE_HZ)])

    def speak(self, frames: int) -> None:
        """The caller speaks so many frames of his own, each sample with its number, in real time."""
        for _ in range(frames):
            self.clock_s += FRAME_S
            self.hear(counted(self.spoken, FRAME))
            self.spoken += FRAME

    def send(self, response_id: str, first: int, frames: int = 1) -> None:
        for index in range(frames):
            frame = counted(first + index * FRAME, FRAME)
            self.placement.place([(self.clock_s, response_id, frame, RATE_HZ)])

    def write(self) -> None:
        since, both = self.placement.pop_settled(self.clock_s)
        assert since == sum(map(len, self.parts))
        self.parts.append(both)

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        since, both = self.placement.finish()
        assert since == sum(map(len, self.parts))
        whole = np.concatenate([*self.parts, both])
        return whole[:, 0], whole[:, 1]


COUNTED = np.tile(np.arange(1, 30_001, dtype=np.int16), 2)


def counted(first: int, samples: int) -> np.ndarray:
    """Return samples that hold their own number, from 1 on."""
    first %= 30_000
    if first + samples <= len(COUNTED):
        return COUNTED[first : first + samples]
    return (np.arange(first, first + samples) % 30_000 + 1).astype(np.int16)


@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0, 0.2), st.booleans()), max_size=40))
def test_the_callers_sound_stands_as_it_came_whatever_its_jitter(pieces):
    call = Recorded()
    for samples, late_s, write in pieces:
        call.clock_s = max(call.clock_s, call.spoken / RATE_HZ + late_s)
        call.hear(counted(call.spoken, samples))
        call.spoken += samples
        if write:
            call.write()
    caller, agent = call.sides()
    assert np.array_equal(caller, counted(0, call.spoken))
    assert not agent.any()


def test_a_response_begins_where_the_callers_sound_had_come_to():
    call = Recorded()
    call.speak(100)
    call.send("r1", 0, 3)
    for index in range(3, 50):
        call.speak(1)
        call.send("r1", index * FRAME)
    call.speak(20)
    caller, agent = call.sides()
    assert np.array_equal(caller, counted(0, call.spoken))
    assert np.array_equal(agent[100 * FRAME : 150 * FRAME], counted(0, 50 * FRAME))
    assert not agent[: 100 * FRAME].any()
    assert not agent[150 * FRAME :].any()


def test_frames_that_follow_each_other_stay_together_however_the_callers_sound_comes():
    call = Recorded()
    call.speak(10)
    for index in range(60):
        call.send("r1", index * FRAME)
        if index % 10 == 9:  # the network held them up
            call.clock_s += 10 * FRAME_S
            for _ in range(10):
                call.hear(counted(0, FRAME))
        call.write()
    _, agent = call.sides()
    assert np.array_equal(agent[10 * FRAME : 20 * FRAME], counted(0, 10 * FRAME))


def test_a_caller_whose_sound_runs_ahead_while_the_agent_speaks_loses_nothing_of_that():
    call = Recorded()
    call.speak(10)
    for index in range(100):
        call.send("r1", index * FRAME)
        if index == 20:  # a client that sends a file as it is
            call.hear(np.zeros(50 * FRAME, np.int16))
        call.speak(1)
        call.write()
    call.speak(30)
    call.write()
    _, agent = call.sides()
    assert np.array_equal(agent[10 * FRAME : 110 * FRAME], counted(0, 100 * FRAME))


def test_a_voice_that_is_held_leaves_its_pause():
    call = Recorded()
    call.speak(10)
    call.send("r1", 0, 3)
    call.speak(30)
    call.send("r1", 3 * FRAME, 3)
    call.speak(10)
    _, agent = call.sides()
    assert np.array_equal(agent[10 * FRAME : 13 * FRAME], counted(0, 3 * FRAME))
    assert not agent[13 * FRAME : 40 * FRAME].any()
    assert np.array_equal(agent[40 * FRAME : 43 * FRAME], counted(3 * FRAME, 3 * FRAME))


def test_what_was_sent_and_not_played_is_taken_back():
    call = Recorded()
    call.speak(10)
    call.send("r1", 0, 3)
    call.speak(1)
    call.write()
    call.placement.stopped("r1", 1.5 * FRAME_S)
    call.speak(20)
    call.write()
    _, agent = call.sides()
    played = FRAME + FRAME // 2
    assert np.array_equal(agent[10 * FRAME : 10 * FRAME + played], counted(0, played))
    assert not agent[10 * FRAME + played :].any()
    (span,) = call.placement.take_spans()
    assert (span.response_id, span.since, span.until) == ("r1", 10 * FRAME, 10 * FRAME + played)


def test_what_a_client_dropped_is_cut_across_sounds_beside_speech():
    call = Recorded()
    call.speak(10)
    call.send("r1", 0, 3)
    call.send(BACKGROUND, 3 * FRAME, 2)
    call.send("r1", 5 * FRAME, 2)
    call.clock_s += 2.5 * FRAME_S
    call.placement.stopped("r1", 2.5 * FRAME_S, dropped_s=4.5 * FRAME_S)
    _, agent = call.sides()
    played = round(2.5 * FRAME)
    assert np.array_equal(agent[10 * FRAME : 10 * FRAME + played], counted(0, played))
    assert not agent[10 * FRAME + played :].any()


def test_sounds_beside_speech_are_recorded_but_are_no_span_of_a_response():
    call = Recorded()
    call.speak(10)
    call.send("r1", 0, 2)
    call.send(BACKGROUND, 2 * FRAME, 2)
    call.send("r1", 4 * FRAME, 1)
    _, agent = call.sides()
    assert np.array_equal(agent[10 * FRAME :], counted(0, 5 * FRAME))
    spans = [(span.response_id, span.since, span.until) for span in call.placement.take_spans()]
    assert spans == [("r1", 10 * FRAME, 12 * FRAME), ("r1", 14 * FRAME, 15 * FRAME)]


def test_a_caller_who_sends_nothing_was_silent_for_as_long():
    call = Recorded()
    call.speak(50)
    call.clock_s += 5.0
    call.send("r1", 0, 3)
    call.speak(50)
    call.write()
    caller, agent = call.sides()
    silent = 5 * RATE_HZ
    assert len(caller) == pytest.approx(100 * FRAME + silent, abs=FRAME)
    assert np.array_equal(caller[-50 * FRAME :], counted(50 * FRAME, 50 * FRAME))
    begins = int(np.flatnonzero(agent)[0])
    assert begins == pytest.approx(50 * FRAME + silent, abs=FRAME)


def test_sound_that_was_held_up_and_came_at_once_makes_no_silence():
    call = Recorded()
    call.speak(50)
    call.clock_s += 1.5
    for _ in range(75):
        call.hear(counted(call.spoken, FRAME))
        call.spoken += FRAME
    for _ in range(50):
        call.speak(1)
        call.write()
    caller, _ = call.sides()
    assert np.array_equal(caller, counted(0, call.spoken))


def test_a_call_without_a_microphone_keeps_the_time_between_responses():
    call = Recorded()
    call.clock_s = 3.0
    call.send("r1", 0)
    call.clock_s = 9.0
    call.write()
    call.send("r2", 0)
    caller, agent = call.sides()
    begins = np.flatnonzero(np.diff((agent != 0).astype(int), prepend=0) == 1) / RATE_HZ
    assert begins == pytest.approx([3.0, 9.0], abs=FRAME_S)
    assert not caller.any()


@pytest.mark.parametrize("off", [-1e-4, 1e-4])
def test_an_hour_ends_within_a_frame_of_the_callers_own_sound(off: float):
    """The caller's clock is off by 100 ppm; every minute the agent speaks, paced by ours."""
    call = Recorded()
    begun = []
    for minute in range(60):
        playout = Playout(RATE_HZ)
        playout.queue(counted(0, 5 * RATE_HZ))
        playout.finish()
        for tick in range(3_000):
            call.clock_s += FRAME_S * (1 + off)
            call.hear(counted(call.spoken, FRAME))
            call.spoken += FRAME
            if tick == 1_500:
                begun.append(call.spoken)
            for frame in playout.due(call.clock_s) if tick >= 1_500 else ():
                call.placement.place([(call.clock_s, f"r{minute}", frame, RATE_HZ)])
        call.write()
    caller, agent = call.sides()
    assert np.array_equal(caller, counted(0, 60 * 60 * RATE_HZ))
    placed = np.flatnonzero(np.diff((agent != 0).astype(np.int8), prepend=0) == 1)
    assert len(placed) == 60
    assert np.abs(placed - begun).max() <= FRAME
