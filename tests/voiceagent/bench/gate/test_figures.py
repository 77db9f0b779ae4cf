from __future__ import annotations

import pytest

from voiceagent.bench.gate.figures import CPU, Block, Times, figures_of


def test_a_response_gives_its_first_wait_those_between_pieces_and_their_sum():
    times = Times()
    times.add([1.0, 1.25, 1.5, 2.0])
    assert (times.ttft, times.itl, times.response) == ([250.0], [250.0, 500.0], [1000.0])


def test_an_interrupted_response_has_no_whole_time():
    times = Times()
    times.add([1.0, 1.25, 1.5], whole=False)
    assert (times.ttft, times.itl, times.response) == ([250.0], [250.0], [])


def test_nothing_is_counted_of_a_response_without_a_piece():
    times = Times()
    times.add([1.0])
    assert times == Times()


def block(slowness: float, ttft_ms: float) -> Block:
    """Some seconds of a machine that takes so many times as long for everything."""
    return Block(
        alone=Times(ttft=[ttft_ms * slowness]),
        alone_reference=Times(ttft=[10 * slowness, 10 * slowness, 90 * slowness]),
    )


def test_a_machine_that_is_slow_for_a_while_changes_no_ratio():
    quiet = figures_of([block(1, 12), block(1, 12)], {})
    busy = figures_of([block(1, 12), block(5, 12)], {})
    assert quiet.times == busy.times == {"TTFT alone": pytest.approx(1.2)}
    assert figures_of([block(5, 12)], {}).milliseconds["TTFT alone"] == 60


def test_an_engine_that_is_slower_shows_whatever_the_machine_does():
    before = figures_of([block(1, 12), block(1, 12)], {})
    after = figures_of([block(5, 18), block(1, 18)], {})
    assert after.times["TTFT alone"] == pytest.approx(1.5 * before.times["TTFT alone"])


def test_the_slowest_under_load_are_a_figure_of_their_own():
    reference = Times(ttft=[10.0] * 10 + [20.0])
    loaded = Block(loaded=Times(ttft=[10.0] * 10 + [40.0]), loaded_reference=reference)
    figures = figures_of([loaded], {})
    assert figures.times == {"TTFT under load, p50": 1.0, "TTFT under load, p95": 2.0}


def test_shares_are_of_what_was_asked_and_missing_where_nothing_was():
    figures = figures_of([], {"right answers %": [True, True, False, True], "rightly declined %": []})
    assert figures.shares == {"right answers %": 75.0}


def stretched(stretch: float, ttft_ms: float) -> Block:
    """Some seconds in which the reference took so many times its processor time."""
    return Block(
        alone=Times(ttft=[ttft_ms]),
        alone_reference=Times(ttft=[10.0]),
        alone_cpu_s=[0.012],
        reference_cpu_s=[0.010],
        stretch=[stretch],
    )


def test_times_are_of_the_blocks_in_which_the_machine_was_quiet():
    figures = figures_of([*[stretched(1.1, 12)] * 5, *[stretched(3.0, 90)] * 9], {})
    assert figures.times["TTFT alone"] == pytest.approx(1.2)
    assert figures.too_busy is None and figures.held == figures.times


def test_on_a_machine_that_is_never_quiet_only_processor_time_is_held():
    figures = figures_of([*[stretched(1.1, 12)] * 4, *[stretched(3.0, 90)] * 9], {})
    assert figures.too_busy == 3.0
    assert figures.held == {CPU: pytest.approx(1.2)}
    assert "TTFT alone" in figures.times
