from __future__ import annotations

import random

import pytest
from simulation.load import Load

LOAD = Load(calls=2_000, at_once=60)


def test_calls_come_so_that_about_as_many_go_on_together() -> None:
    last_s = list(LOAD.arrivals(random.Random(1)))[-1]
    assert LOAD.calls / last_s * LOAD.call_s == pytest.approx(LOAD.at_once, rel=0.05)


def test_a_day_has_a_busy_middle() -> None:
    at_s = list(Load(calls=2_000, at_once=60, by_day=True).arrivals(random.Random(1)))
    middle = [each for each in at_s if 0.25 < each / at_s[-1] < 0.75]
    assert len(middle) > 0.65 * len(at_s)


def test_a_call_is_the_same_however_the_others_are_answered() -> None:
    def drawn(number: int) -> list[float]:
        caller = LOAD.caller(number, seed=1)
        return [LOAD.length_of_call_s(caller), *(LOAD.next_pause_s(caller) for _ in range(3))]

    assert drawn(7) == drawn(7) != drawn(8)


def test_a_call_is_of_any_agent_and_the_same_with_one_or_many() -> None:
    many = Load(calls=2_000, at_once=60, agents=4)
    assert {many.agent(number, seed=1) for number in range(40)} == {0, 1, 2, 3}
    assert LOAD.agent(7, seed=1) == 0
    assert many.caller(7, 1).random() == LOAD.caller(7, 1).random()
