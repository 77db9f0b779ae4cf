"""One timer for many: on a real event loop, with a clock that the test moves where the time matters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from call_services import call_monitor

from voiceagent.processes.rounds import rounds_of
from voiceagent.session.timers import TICK_S, Pacer


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not happened():  # noqa: ASYNC110  callbacks tell no end
            await asyncio.sleep(0.001)


async def test_everyone_is_woken_once_and_not_before_the_time():
    pacer, woken = Pacer(time.monotonic), list[tuple[int, bool]]()
    begin_s = time.monotonic()
    for number in range(10):
        at_s = begin_s + 0.003 * number
        pacer.wake(at_s, lambda n=number, at=at_s: woken.append((n, time.monotonic() >= at - 0.001)))
    await until(lambda: len(woken) == 10)
    await asyncio.sleep(3 * TICK_S)
    assert sorted(woken) == [(number, True) for number in range(10)]


async def test_those_of_one_tick_share_a_timer(monkeypatch):
    loop = asyncio.get_running_loop()
    armed, woken = list[float](), list[int]()
    call_later = loop.call_later
    monkeypatch.setattr(loop, "call_later", lambda *a: armed.append(a[0]) or call_later(*a))
    pacer = Pacer(lambda: 0.0)
    for number in range(100):
        pacer.wake(TICK_S, lambda n=number: woken.append(n))
    assert len(armed) == 1


async def test_in_a_busy_process_it_wakes_them_in_its_rounds_where_it_may():
    loop, now = asyncio.get_running_loop(), set[str]()

    def member() -> None:
        now.add("round")
        loop.call_soon(loop.call_soon, now.clear)

    pacer, woken = Pacer(time.monotonic, in_rounds=True), list[bool]()
    rounds_of(loop).join(member)
    try:
        for number in range(6):
            pacer.wake(time.monotonic() + 1.5 * TICK_S * number, lambda: woken.append("round" in now))
        await until(lambda: len(woken) == 6)
    finally:
        rounds_of(loop).leave(member)
    assert all(woken)


async def test_in_a_busy_process_a_calls_deadlines_have_no_timer_of_their_own(monkeypatch):
    loop, monitor = asyncio.get_running_loop(), call_monitor()
    rounds_of(loop).join(member := lambda: None)
    try:
        monkeypatch.setattr(loop, "call_later", lambda *_: pytest.fail("a timer was armed"))
        monitor.start_timeout("resp_1", "llm", "first token", 1.0)
        monkeypatch.undo()
    finally:
        monitor.close()
        rounds_of(loop).leave(member)


async def test_an_earlier_time_is_not_kept_waiting_by_a_later_one():
    pacer, woken = Pacer(time.monotonic), list[str]()
    pacer.wake(time.monotonic() + 60, lambda: woken.append("late"))
    pacer.wake(time.monotonic(), lambda: woken.append("now"))
    await until(lambda: bool(woken))
    assert woken == ["now"]


async def test_who_is_forgotten_is_not_woken_in_the_same_tick():
    pacer, woken = Pacer(time.monotonic), list[str]()

    def second() -> None:
        woken.append("second")

    def first() -> None:
        woken.append("first")
        pacer.forget(tick, second)

    at_s = time.monotonic()
    pacer.wake(at_s, first)
    tick = pacer.wake(at_s, second)
    pacer.wake(at_s, lambda: woken.append("third"))
    await until(lambda: "third" in woken)
    assert woken == ["first", "third"]


async def test_a_failure_is_reported_and_hurts_no_other():
    pacer, woken, reported = Pacer(time.monotonic), list[str](), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))

    def fail() -> None:
        raise ValueError("broken")

    at_s = time.monotonic()
    pacer.wake(at_s, fail)
    pacer.wake(at_s, lambda: woken.append("other"))
    await until(lambda: bool(woken))
    assert [str(error) for error in reported] == ["broken"]


def test_a_pacer_goes_on_in_another_event_loop():
    pacer, woken = Pacer(time.monotonic), list[str]()

    async def leave_waiting() -> None:
        pacer.wake(time.monotonic() + 60, lambda: woken.append("first"))

    async def wait() -> None:
        pacer.wake(time.monotonic() + 60.1, lambda: None)
        pacer.wake(time.monotonic(), lambda: woken.append("second"))
        await until(lambda: bool(woken))

    asyncio.run(leave_waiting())
    asyncio.run(wait())
    assert woken == ["second"]
