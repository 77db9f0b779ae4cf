"""Placement of calls among gateways, and the wanted number of gateways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from voiceagent.cluster.placing import GatewayReport, capacity, from_json, place, report, wanted

ONE = GatewayReport("one", "https://one", "ready", True, 10, 100, 100, 1.0, 80.0)


def first(_: int) -> int:
    return 0


def gateway(name: str, calls: int, **changed: object) -> GatewayReport:
    return replace(ONE, name=name, url=f"https://{name}", calls=calls, **changed)


def test_a_call_stays_where_it_came_unless_another_is_clearly_less_full() -> None:
    assert place(ONE, [gateway("other", 1)], first) is ONE
    assert place(gateway("one", 50), [gateway("other", 1)], first) == gateway("other", 1)


def test_a_full_gateway_sends_calls_to_any_that_takes_them() -> None:
    full = gateway("one", 100, takes_calls=False)
    assert place(full, [gateway("other", 99)], first) == gateway("other", 99)


def test_nobody_takes_a_call_where_all_are_full_or_cannot_be_reached() -> None:
    full = gateway("one", 100, takes_calls=False)
    others = [gateway("two", 9, takes_calls=False), replace(gateway("three", 1), url=""), full]
    assert place(full, others, first) is None


def test_the_better_of_two_that_are_picked_takes_it() -> None:
    others = [gateway("a", 30), gateway("b", 20), gateway("c", 0)]
    assert place(gateway("one", 90), others, first) == gateway("b", 20)


@pytest.mark.parametrize(
    ("calls", "lag_s", "carried"), [(60, 0.0, 100), (60, 0.05, 100), (60, 0.06, 60), (0, 0.06, 1)]
)
def test_a_late_gateway_carries_no_more_than_it_has(calls: int, lag_s: float, carried: int) -> None:
    assert capacity(calls, 100, lag_s, 0.1) == carried


@pytest.mark.parametrize(
    ("calls", "reserve", "gateways"), [(0, 0, 1), (100, 0, 1), (100, 1, 2), (190, 10, 2)]
)
def test_so_many_gateways_are_wanted_that_the_calls_and_the_reserve_fit(
    calls: int, reserve: int, gateways: int
) -> None:
    assert wanted([gateway("one", calls)], reserve) == gateways


def test_a_draining_gateway_counts_with_its_calls_alone() -> None:
    assert wanted([gateway("one", 60), gateway("two", 60, state="draining", capacity=1)], 0) == 2
    assert wanted([], 10) == 1


def test_a_report_is_what_load_says_and_reads_back() -> None:
    load = {
        "state": "ready",
        "takes_calls": True,
        "reason": None,
        "retry_after_s": None,
        "calls": 10,
        "max_calls": 100,
        "loop_lag_ms": 1.0,
        "predicted_ttft_ms": 80.0,
    }
    assert report("one", "https://one", load, 0.1) == ONE
    assert from_json(ONE.to_json() | {"newer": 1}) == ONE
