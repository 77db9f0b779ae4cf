"""Criteria of a soak."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.bench.soak import JUDGED, REACH_S, SETTLED_S, Losses, Sample, complaints


def samples(*rss_bytes: int, descriptors: int = 50) -> list[Sample]:
    """One a minute, from the moment on that they are judged."""
    return [Sample(SETTLED_S + 60 * at, rss, descriptors, 100) for at, rss in enumerate(rss_bytes)]


def test_a_server_that_stays_as_it_is_passes() -> None:
    assert complaints(samples(*[100] * 20), Losses()) == []


def test_memory_that_grows_by_more_than_a_twentieth_fails() -> None:
    assert complaints(samples(*[1_000] * 10, *[1_049] * 10), Losses()) == []
    [complaint] = complaints(samples(*[1_000] * 10, *[1_051] * 10), Losses())
    assert complaint.startswith("rss_bytes grew from 1000 to 1051")


def test_what_grows_before_it_has_settled_does_not_count() -> None:
    early = [Sample(60.0 * at, at, at, at) for at in range(10)]
    assert complaints([*early, *samples(*[1_000] * 20)], Losses()) == []


def test_one_high_sample_is_no_growth() -> None:
    assert complaints(samples(*[1_000] * 15, 9_000, *[1_000] * (JUDGED - 1)), Losses()) == []


def test_too_short_a_soak_is_judged_by_its_losses_alone() -> None:
    losses = Losses()
    losses.note("missed turns", 2, 100.0)
    assert complaints(samples(1, 1_000), losses) == ["2 missed turns without a fault that explains it"]


@given(st.floats(0, 1_000), st.floats(0, 60), st.floats(0, 2_000))
def test_a_loss_is_explained_by_a_fault_that_reaches_it(at_s: float, lasts_s: float, lost_s: float) -> None:
    losses = Losses()
    losses.fault(at_s + lasts_s)
    losses.note("calls broken off", 1, lost_s)
    assert bool(losses.explained) == (lost_s <= at_s + lasts_s + REACH_S)
