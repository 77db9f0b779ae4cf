from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.backoff import Backoff

BACKOFF = Backoff(base_s=0.5, max_s=4.0)


def test_the_ceiling_doubles_up_to_the_most() -> None:
    waits = [BACKOFF.wait_s(failures, lambda: 1.0) for failures in range(1, 7)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]


def test_the_wait_is_a_random_part_of_the_ceiling() -> None:
    assert BACKOFF.wait_s(2, lambda: 0.25) == 0.25


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0, 100))
def test_the_wait_is_never_less_than_the_server_asked_for(failures: int, part: float, asked_s: float) -> None:
    assert BACKOFF.wait_s(failures, lambda: part, asked_s) >= asked_s
