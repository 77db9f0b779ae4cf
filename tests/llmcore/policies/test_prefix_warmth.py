"""Repeated prefill of the prefix that calls share."""

from __future__ import annotations

import pytest

from llmcore.policies.prefix_warmth import MAX_PREFIXES, PrefixWarmth

TTL_S = 300.0


@pytest.fixture
def warmth() -> PrefixWarmth[str]:
    return PrefixWarmth(TTL_S, keep_s=1000.0)


def test_what_one_caller_alone_uses_is_not_kept(warmth: PrefixWarmth[str]) -> None:
    warmth.record_use("his own", "ann", 0.0)
    warmth.record_use("his own", "ann", 10.0)
    assert warmth.due_s() is None


def test_what_two_callers_use_is_read_before_its_time_is_over(warmth: PrefixWarmth[str]) -> None:
    warmth.record_use("shared", "ann", 0.0)
    warmth.record_use("shared", "bob", 10.0)
    due_s = warmth.due_s()
    assert due_s is not None
    assert 10.0 < due_s < 10.0 + TTL_S
    assert warmth.pop_due(due_s - 1.0) == []
    assert warmth.pop_due(due_s) == ["shared"]


def test_each_use_begins_the_time_anew(warmth: PrefixWarmth[str]) -> None:
    for at_s, caller in ((0.0, "ann"), (10.0, "bob"), (200.0, "ann")):
        warmth.record_use("shared", caller, at_s)
    assert warmth.due_s() == pytest.approx(200.0 + 0.9 * TTL_S)


def test_nobody_reads_on_when_nobody_has_come_for_long(warmth: PrefixWarmth[str]) -> None:
    warmth.record_use("shared", "ann", 0.0)
    warmth.record_use("shared", "bob", 0.0)
    readings = 0
    while (due_s := warmth.due_s()) is not None:
        readings += len(warmth.pop_due(due_s))
        assert due_s <= 1000.0
    assert readings == 3


def test_nothing_is_kept_warm_for_no_time() -> None:
    warmth = PrefixWarmth[str](TTL_S, keep_s=0.0)
    warmth.record_use("shared", "ann", 0.0)
    warmth.record_use("shared", "bob", 0.0)
    assert warmth.due_s() is None


def test_of_many_the_one_unused_for_longest_is_forgotten(warmth: PrefixWarmth[str]) -> None:
    for number in range(MAX_PREFIXES + 1):
        for caller in ("ann", "bob"):
            warmth.record_use(f"shared {number}", caller, float(number))
    assert "shared 0" not in warmth.pop_due(900.0)
