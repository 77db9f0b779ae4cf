"""Hang detection by an engine's silence and busy time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, repeat

from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.hang_detection import HangDetector, HangLimits

LIMITS = HangLimits(idle_s=20.0, busy_s=180.0)


def hangs_after_s(used_s: Iterable[float], in_first_request: bool = False) -> float | None:
    """Return the silence at which the detector reports a hang. used_s: busy time of each interval."""
    detector = HangDetector(LIMITS, in_first_request)
    for processor_s in accumulate(used_s, initial=100.0):
        if detector.observe(processor_s):
            return detector.silent_s
    return None


def test_an_idle_engine_hangs_after_the_idle_limit() -> None:
    assert hangs_after_s(repeat(0.0, 400)) == 20.0


def test_a_working_engine_hangs_after_the_busy_limit_only() -> None:
    assert hangs_after_s(repeat(1.0, 400)) == 180.0


def test_an_engine_that_gets_a_tenth_of_a_core_is_working() -> None:
    assert hangs_after_s(repeat(0.1, 400)) == 180.0


def test_an_engine_in_its_first_request_is_waited_for_while_idle() -> None:
    assert hangs_after_s(repeat(0.0, 400), in_first_request=True) == 180.0


def test_an_engine_that_stops_working_hangs_the_idle_limit_later() -> None:
    assert hangs_after_s([*repeat(1.0, 30), *repeat(0.0, 400)]) == 51.0


def test_an_ended_worker_process_lowers_the_total_and_counts_as_idle() -> None:
    assert hangs_after_s([-50.0, *repeat(0.0, 400)]) == 20.0


@given(st.lists(st.floats(0.0, 2.0), min_size=200, max_size=200), st.booleans())
def test_every_silence_ends_between_the_two_limits(used_s: list[float], in_first_request: bool) -> None:
    ended_s = hangs_after_s(used_s, in_first_request)
    assert ended_s is not None
    assert LIMITS.idle_s <= ended_s <= LIMITS.busy_s
