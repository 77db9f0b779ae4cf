from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from random import Random

import numpy as np
import pytest

from voiceagent.bench.caller import (
    FRAME_S,
    INTERRUPTS_AFTER_S,
    LATE_S,
    NEXT_RESPONSE_S,
    PATIENCE_S,
    QUIET_S,
    Caller,
    Saying,
)
from voiceagent.bench.tally import Tally

TONE = np.full(480, 8_000, np.int16)
SILENT = np.zeros(480, np.int16)
WORDS = Saying(frames=(b"voice",) * 20, voice_from_s=0.1, voice_to_s=0.35)
VOICE_TO_SAID_S = 0.4 - 0.35


class Fixed(Random):
    """Every chance turns out the same: 1.0 interrupts never, 0.0 always, and as soon as may be."""

    def __init__(self, chance: float) -> None:
        super().__init__(1)
        self.chance = chance

    def random(self) -> float:
        return self.chance


class Line:
    """A call of one caller, frame by frame from 100 s on."""

    def __init__(self, chance: float = 1.0, turns: int = 1, saying: Saying = WORDS) -> None:
        self.tally = Tally()
        self.now_s = 100.0
        self.saying = saying
        self.caller = Caller(100.0, repeat(saying), (b"silence",), turns, Fixed(chance), self.tally)

    def frame(self) -> bytes:
        self.now_s = self.caller.due_s
        return self.caller.frame(self.now_s)

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds / FRAME_S)):
            self.frame()

    def speak(self) -> None:
        """Until something has been said."""
        while self.frame() != b"voice":
            pass
        for _ in self.saying.frames[1:]:
            assert self.frame() == b"voice"

    def hear(self, *frames: np.ndarray) -> None:
        for frame in frames:
            self.caller.hear(self.now_s, frame)


def test_an_answer_is_timed_from_last_voiced_to_first_audible_sample():
    line = Line()
    line.speak()
    line.wait(0.2)
    line.hear(SILENT, TONE)
    assert line.tally.from_voice == pytest.approx([(VOICE_TO_SAID_S + 0.2 + FRAME_S) * 1000])
    assert not line.tally.from_detected


def test_an_answer_is_timed_from_the_servers_own_end_of_speech_too():
    line = Line()
    line.speak()
    line.caller.speech_stopped(line.now_s - 100.0)
    line.wait(0.2)
    line.hear(TONE)
    assert line.tally.from_detected == pytest.approx([200])


def test_an_answer_before_the_voice_ended_is_a_cut_off():
    line = Line()
    while line.frame() != b"voice":
        pass
    line.hear(TONE)
    assert line.tally.cut_off == 1 and not line.tally.from_voice


def test_a_turn_without_an_answer_is_missed():
    line = Line()
    line.speak()
    line.wait(PATIENCE_S + 0.1)
    assert line.tally.missed == line.tally.turns == 1
    line.wait(LATE_S - PATIENCE_S)
    assert line.caller.finished
    assert line.tally.missed == 1 and line.tally.answered_late == 0


def test_a_missed_turn_that_is_answered_after_all_is_told_from_one_that_never_is():
    line = Line()
    line.speak()
    line.wait(PATIENCE_S + 1.0)
    line.hear(TONE)
    line.wait(2.0)
    assert line.caller.finished
    assert line.tally.missed == line.tally.answered_late == line.tally.turns == 1
    assert not line.tally.from_voice


def test_a_frame_after_the_one_before_was_played_out_is_late():
    line = Line()
    line.speak()
    line.hear(TONE, TONE)
    line.wait(0.02)
    line.hear(TONE)
    line.wait(0.06)
    line.hear(TONE)
    assert line.tally.frames.count == 4 and line.tally.frames.late == 1


def test_a_frame_of_twice_the_length_may_be_followed_so_much_later():
    line = Line()
    line.speak()
    line.caller.hear(line.now_s, TONE, 2 * FRAME_S)
    line.wait(0.04)
    line.caller.hear(line.now_s, TONE, 2 * FRAME_S)
    assert line.tally.frames.late == 0
    assert line.caller.played_out_s == pytest.approx(line.now_s + 2 * FRAME_S)


def test_a_new_response_is_not_late():
    line = Line(turns=2)
    line.speak()
    line.hear(TONE)
    line.speak()
    line.hear(TONE)
    assert line.tally.frames.late == 0 and len(line.tally.from_voice) == 2


def test_a_caller_hangs_up_when_the_last_answer_has_been_heard():
    line = Line()
    line.speak()
    line.hear(TONE)
    assert not line.caller.finished
    line.wait(1.1)
    assert line.caller.finished


def interrupted() -> Line:
    """A line whose caller has begun to speak over the agent."""
    line = Line(chance=0.0, turns=2)
    line.speak()
    line.hear(*[TONE] * 500)
    line.speak()
    return line


def test_what_the_agent_still_says_is_no_answer_to_the_interruption():
    line = interrupted()
    line.hear(TONE)
    assert len(line.tally.from_voice) == 1


def test_an_agent_that_stops_has_yielded_and_answers_then():
    line = interrupted()
    line.caller.cleared(line.now_s)
    line.hear(TONE)
    assert line.tally.yielded == pytest.approx([(0.4 - 0.1) * 1000])
    assert len(line.tally.from_voice) == 2


def test_an_agent_that_was_silent_before_it_stopped_had_yielded_then():
    line = Line(chance=0.0, turns=2)
    line.speak()
    line.hear(*[TONE] * 50)
    heard_to_s = line.now_s + 50 * FRAME_S
    line.speak()
    voice_from_s = line.now_s - (20 - 1) * FRAME_S - FRAME_S + WORDS.voice_from_s
    line.wait(0.5)
    line.caller.cleared(line.now_s)
    assert line.tally.yielded == pytest.approx([(heard_to_s - voice_from_s) * 1000])


def test_an_agent_that_goes_on_has_ignored_the_interruption():
    line = interrupted()
    line.wait(500 * FRAME_S + 1.1)
    assert line.tally.ignored == 1 and line.tally.missed == 0
    line.wait(PATIENCE_S)
    assert line.tally.missed == 1


def test_an_agent_that_has_finished_first_answers_an_interruption_then():
    line = interrupted()
    line.wait(500 * FRAME_S - 0.4 + NEXT_RESPONSE_S + FRAME_S)
    line.hear(SILENT, TONE)
    assert line.tally.ignored == line.tally.turns == 1
    line.wait(PATIENCE_S + 2.0)
    assert line.tally.missed == 0


@pytest.mark.parametrize(("more_s", "ignored"), [(-0.5, 0), (0.2, 0), (0.5, 1)])
def test_an_agent_that_ends_as_the_voice_begins_has_ignored_nothing(more_s: float, ignored: int):
    """more_s: how long the agent goes on after the interruption's first voiced sample."""
    line = Line(chance=0.0, turns=2, saying=replace(WORDS, frames=(b"voice",) * 100, voice_to_s=1.95))
    line.speak()
    line.hear(*[TONE] * round((INTERRUPTS_AFTER_S[0] + WORDS.voice_from_s + more_s) / FRAME_S))
    line.speak()
    line.wait(0.2)
    line.hear(TONE)
    assert line.tally.ignored == ignored
    assert len(line.tally.from_voice) == 2 - ignored and line.tally.cut_off == 0


def test_an_answer_that_comes_before_a_late_frame_is_that_to_the_interruption():
    line = Line(chance=0.0, turns=2, saying=replace(WORDS, frames=(b"voice",) * 100, voice_to_s=1.95))
    line.speak()
    line.hear(*[TONE] * 120)  # they are played out while he speaks over them
    line.speak()
    line.now_s += QUIET_S  # in which no frame was sent
    line.hear(TONE)
    assert line.tally.ignored == 1
    line.wait(PATIENCE_S + 2.0)
    assert line.tally.missed == 0


def test_an_agent_that_is_held_while_it_is_spoken_over_has_not_finished():
    line = Line(chance=0.0, turns=2, saying=replace(WORDS, frames=(b"voice",) * 100, voice_to_s=1.95))
    line.speak()
    line.hear(*[TONE] * 50)  # they are played out while he speaks over them, for more than a second
    while line.frame() != b"voice":
        pass
    line.wait(1.8)
    line.hear(TONE)
    assert line.tally.cut_off == line.tally.ignored == 0
