"""Rounds: a clock and timers of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.processes.rounds import ROUND_S, Rounds, until_multiple_s


class Timer:
    def __init__(self, loop: Loop, when_s: float, call: Callable[[], None]) -> None:
        self.loop, self.when_s, self.call = loop, when_s, call
        loop.timers.append(self)

    def cancel(self) -> None:
        self.loop.timers.remove(self)


class Loop:
    """A running event loop's clock and timers. woken_s: when a timer woke it."""

    def __init__(self) -> None:
        self.now_s = 100.003
        self.timers, self.soon = list[Timer](), list[Callable[[], None]]()
        self.woken_s, self.failures = list[float](), list[str]()

    def time(self) -> float:
        return self.now_s

    def call_at(self, when_s: float, call: Callable[[], None], context: object = None) -> Timer:
        return Timer(self, when_s, call)

    def call_later(self, after_s: float, call: Callable[[], None]) -> Timer:
        return Timer(self, self.now_s + after_s, call)

    def call_soon(self, call: Callable[..., None], *arguments: object) -> None:
        self.soon.append(partial(call, *arguments))

    def call_exception_handler(self, context: dict[str, object]) -> None:
        self.failures.append(str(context["exception"]))

    def pass_s(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while due := [timer for timer in self.timers if timer.when_s <= until_s + 1e-9]:
            timer = min(due, key=lambda timer: timer.when_s)
            self.timers.remove(timer)
            self.now_s = max(self.now_s, timer.when_s)
            self.woken_s.append(self.now_s)
            timer.call()
            while self.soon:
                self.soon.pop(0)()
        self.now_s = max(self.now_s, until_s)


@pytest.fixture(name="loop")
def _loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    loop = Loop()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    return loop


def test_a_process_that_is_not_busy_is_not_woken_and_does_what_is_due_at_its_time(loop: Loop) -> None:
    rounds, made = Rounds(), list[float]()
    rounds.call_later(0.0071, lambda: made.append(loop.now_s))
    loop.pass_s(1.0)
    assert made == [pytest.approx(100.0101)]
    assert len(loop.woken_s) == 1


def test_what_is_due_between_two_rounds_is_done_in_the_second_behind_what_its_members_do(loop: Loop) -> None:
    rounds, made = Rounds(), list[tuple[str, float]]()

    def member() -> None:
        made.append(("read", loop.now_s))
        loop.call_soon(lambda: made.append(("judged", loop.now_s)))

    rounds.join(member)
    rounds.call_later(0.021, lambda: made.append(("due", loop.now_s)))
    loop.pass_s(2.5 * ROUND_S)
    assert [name for name, _ in made] == ["read", "judged", "read", "judged", "due"]
    assert made[-1] == ("due", pytest.approx(100.04))


@given(st.lists(st.floats(0, 0.5), max_size=30))
def test_calls_of_many_times_wake_it_no_oftener_and_each_is_made_once_in_time(after_s: list[float]) -> None:
    loop, rounds, late_s = Loop(), Rounds(), list[float]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "get_running_loop", lambda: loop)
        rounds.join(lambda: None)
        for wait_s in after_s:
            due_s = loop.now_s + wait_s
            rounds.call_later(wait_s, lambda due=due_s: late_s.append(loop.now_s - due))
        loop.pass_s(1.0)
    assert len(late_s) == len(after_s)
    assert all(-0.0011 < late < ROUND_S + 1e-6 for late in late_s)
    assert len(loop.woken_s) == 50


def test_a_call_that_is_cancelled_is_not_made(loop: Loop) -> None:
    rounds, made = Rounds(), list[str]()
    rounds.join(lambda: None)
    rounds.call_later(0.01, lambda: made.append("cancelled")).cancel()
    rounds.call_later(0.01, lambda: made.append("kept"))
    loop.pass_s(1.0)
    assert made == ["kept"]


def test_what_waits_is_still_done_when_the_last_member_has_left(loop: Loop) -> None:
    rounds, made = Rounds(), list[str]()

    def member() -> None:
        raise AssertionError("it has left")

    rounds.join(member)
    rounds.call_later(0.1, lambda: made.append("waited"))
    rounds.leave(member)
    loop.pass_s(1.0)
    assert made == ["waited"]
    assert not loop.timers


def test_a_loop_that_stood_still_makes_up_for_calls_and_not_for_rounds(loop: Loop) -> None:
    rounds, made = Rounds(), list[str]()
    rounds.join(lambda: made.append("member"))
    rounds.call_later(0.03, lambda: made.append("first"))
    rounds.call_later(0.09, lambda: made.append("second"))
    loop.now_s += 10 * ROUND_S
    loop.pass_s(0.0)
    assert made == ["member", "first", "second"]


def test_what_fails_is_reported_and_hurts_no_other(loop: Loop) -> None:
    rounds, made = Rounds(), list[str]()

    def fail() -> None:
        raise ValueError("broken")

    rounds.join(fail)
    rounds.join(lambda: made.append("member"))
    rounds.call_later(0.001, fail)
    rounds.call_later(0.001, lambda: made.append("due"))
    loop.pass_s(1.5 * ROUND_S)
    assert made == ["member", "due"]
    assert loop.failures == ["broken", "broken"]


@given(st.floats(0.0, 1e6), st.sampled_from([0.06, 0.25, 0.5, 1.0]))
def test_what_is_done_at_multiples_of_a_period_is_done_once_in_it(now_s: float, period_s: float) -> None:
    """Also by a timer that is early by up to a tenth of it, as those of event loops are by a millisecond."""
    wait_s = until_multiple_s(period_s, now_s)
    assert 0 < wait_s <= 1.1 * period_s
    assert (now_s + wait_s) / period_s == pytest.approx(round((now_s + wait_s) / period_s))
    early_s = now_s + wait_s - 0.09 * period_s
    assert early_s + until_multiple_s(period_s, early_s) == pytest.approx(now_s + wait_s + period_s)
