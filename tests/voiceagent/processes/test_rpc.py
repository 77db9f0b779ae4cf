from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from voiceagent.processes.frame_socket import FLUSH_INTERVAL_S as PATIENCE
from voiceagent.processes.messages import RpcError, Windows
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import CoalescedValue

FLUSH_INTERVAL_S = 60
WINDOW_BYTES = Windows().here


class ToldError(Exception):
    """One that the other end is to see as it is."""


class Services:
    """Services at the other end, and the calls it noticed."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        self.made = 0

    async def double(self, asked: int, items: AsyncGenerator[int, None]) -> AsyncGenerator[int, None]:
        yield 2 * asked
        async for item in items:
            yield 2 * item

    async def endless(self, size: int, _: Any) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                self.made += 1
                yield bytes(size)
        finally:
            self.stopped.set()

    async def fail(self, error: Exception, _: Any) -> AsyncGenerator[None, None]:
        yield None
        raise error

    async def never(self, _asked: Any, _: Any) -> AsyncGenerator[None, None]:
        yield None
        await asyncio.Event().wait()

    def all(self) -> dict[str, Any]:
        names = ("double", "endless", "fail", "never")
        return {name: getattr(self, name) for name in names}


@asynccontextmanager
async def connected(**more: Any):
    """Both ends of a connection with the same services each, `more` too, and those of the second."""
    services = Services(), Services()
    ends = []
    for index, end in enumerate(socket.socketpair()):
        ends.append(
            RpcConnection(end, services[index].all() | more, opens_even=index == 0, passed_on=(ToldError,))
        )
        ends[-1].attach()
    async with asyncio.timeout(FLUSH_INTERVAL_S):
        yield *ends, services[1]
        for end in ends:
            end.close()
            await end.gone.wait()


async def items(*values: int) -> AsyncGenerator[int, None]:
    for value in values:
        yield value


async def test_both_ends_ask_at_the_same_time():
    async with connected() as (one, other, _):
        assert await asyncio.gather(one.ask("double", 1), other.ask("double", 2)) == [2, 4]


async def test_items_go_there_and_values_come_back_in_order():
    async with connected() as (one, _, _):
        assert [value async for value in one.stream("double", 1, items(2, 3))] == [2, 4, 6]


async def test_an_item_with_time_goes_with_the_next_urgent_one():
    seen: list[Any] = []

    async def note(_asked: None, arriving: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        async for item in arriving:
            seen.append(item)
            yield item

    async def spoken() -> AsyncGenerator[str, None]:
        yield "sound"
        for _ in range(50):  # rounds of the event loop, in each of which it could have gone
            await asyncio.sleep(0)
        seen.append("still waiting")
        yield "now"

    async with connected(note=note) as (one, _, _):
        answers = one.stream("note", items=spoken(), patient=lambda item: item == "sound")
        assert [value async for value in answers] == ["sound", "now"]
    assert seen == ["still waiting", "sound", "now"]


def unhurried(text: str) -> CoalescedValue:
    return CoalescedValue(text, lambda first, second: f"{first} {second}")


async def told(*values: Any, turns: int = 0) -> list[Any]:
    """Return the received values of a service, with so many turns of the event loop between two of them."""

    async def tell(_asked: None, _: Any) -> AsyncGenerator[Any, None]:
        for value in values:
            yield value
            for _turn in range(turns):
                await asyncio.sleep(0)

    async with connected(tell=tell) as (one, _, _):
        return [value async for value in one.stream("tell")]


async def test_values_that_have_time_become_one_with_the_next_that_has_none():
    said = [unhurried("one"), unhurried("two"), "three", "four"]
    assert await told(*said, turns=50) == ["one two three", "four"]


async def test_values_that_have_time_go_as_one_before_the_end_of_their_stream():
    assert await told("one", unhurried("two"), unhurried("three")) == ["one", "two three"]


async def test_a_value_that_has_time_goes_when_nothing_follows_it():
    async def tell(_asked: None, _: Any) -> AsyncGenerator[Any, None]:
        yield unhurried("one")
        await asyncio.Event().wait()

    async with connected(tell=tell) as (one, _, _), aclosing(one.stream("tell")) as values:
        assert await anext(values) == "one"


async def test_values_that_have_time_wait_where_the_other_end_reads_nothing():
    made: list[int] = []

    async def tell(_asked: None, _: Any) -> AsyncGenerator[Any, None]:
        for number in range(20):
            made.append(number)
            yield CoalescedValue(bytes(WINDOW_BYTES // 2), lambda _, second: second)
            await asyncio.sleep(2 * PATIENCE)

    async with connected(tell=tell) as (one, _, _), aclosing(one.stream("tell")) as values:
        await anext(values)
        await asyncio.sleep(20 * PATIENCE)
        assert len(made) < 6


async def test_an_item_that_has_time_goes_when_nothing_follows_it():
    async def spoken() -> AsyncGenerator[str, None]:
        yield "sound"
        await asyncio.Event().wait()

    async def note(_asked: None, arriving: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        async for item in arriving:
            yield item

    async with (
        connected(note=note) as (one, _, _),
        aclosing(one.stream("note", items=spoken(), patient=lambda _: True)) as answers,
    ):
        assert await anext(answers) == "sound"


async def test_closing_a_stream_stops_the_work_at_the_other_end():
    async with connected() as (one, _, there):
        async with aclosing(one.stream("endless", 10)) as values:
            await anext(values)
        await there.stopped.wait()


async def test_values_that_are_not_read_stop_coming_at_the_window():
    async with connected() as (one, _, there), aclosing(one.stream("endless", WINDOW_BYTES // 4)) as values:
        for _ in range(9):
            await anext(values)
        for _ in range(9):
            await one.ask("double", 1)
        assert there.made < 9 + 8


async def test_a_value_near_to_the_window_passes_while_credit_is_owed():
    sizes = [10, WINDOW_BYTES - 20, 2 * WINDOW_BYTES, 10]

    async def give(_asked: None, _: Any) -> AsyncGenerator[bytes, None]:
        for size in sizes:
            yield bytes(size)

    async with connected(give=give) as (one, _, _):
        assert [len(value) async for value in one.stream("give")] == sizes


async def test_an_exception_that_is_passed_on_is_raised_as_it_is():
    async with connected() as (one, _, _):
        with pytest.raises(ToldError, match="out of paper"):
            _ = [value async for value in one.stream("fail", ToldError("out of paper"))]


async def test_any_other_failure_is_reported_in_words():
    async with connected() as (one, _, _):
        with pytest.raises(RpcError, match="fail: KeyError: 'x'"):
            _ = [value async for value in one.stream("fail", KeyError("x"))]
        with pytest.raises(RpcError, match="no-such-service"):
            await one.ask("no-such-service")


async def test_what_the_items_raise_is_raised_by_the_stream():
    async def broken() -> AsyncGenerator[int, None]:
        yield 1
        raise ToldError("no more sound")

    async with connected() as (one, _, _):
        with pytest.raises(ToldError, match="no more sound"):
            _ = [value async for value in one.stream("double", 1, broken())]


async def test_when_the_other_end_goes_all_streams_end():
    async with connected() as (one, other, there):
        values, waiting = one.stream("endless", 10), one.stream("never")
        await anext(values)
        await anext(waiting)
        other.close()
        await there.stopped.wait()
        with pytest.raises(RpcError, match="gone"):
            await anext(waiting)
        await one.gone.wait()
        with pytest.raises(RpcError, match="gone"):
            await one.ask("double", 1)
        await values.aclose()
