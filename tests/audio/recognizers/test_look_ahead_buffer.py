from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from audio.recognizers.look_ahead_buffer import LookAheadBuffer


async def numbers(read: list[int]) -> AsyncGenerator[int, None]:
    try:
        for number in range(100):
            read.append(number)
            yield number
    finally:
        read.append(-1)


async def test_items_come_in_order_and_then_none() -> None:
    async with LookAheadBuffer(numbers([]), 10) as ahead:
        assert [await ahead.next() for _ in range(101)] == [*range(100), None]


async def test_no_more_is_read_than_the_limit_ahead() -> None:
    read: list[int] = []
    async with LookAheadBuffer(numbers(read), 10) as ahead:
        for _ in range(50):
            await asyncio.sleep(0)
        assert ahead.waiting
        assert len(read) == 11  # the last one waits for room


async def test_leaving_closes_the_source() -> None:
    read: list[int] = []
    async with LookAheadBuffer(numbers(read), 10) as ahead:
        await ahead.next()
    assert read[-1] == -1


async def test_what_the_source_raises_comes_after_the_items_before_it() -> None:
    async def broken() -> AsyncGenerator[int, None]:
        yield 1
        raise ZeroDivisionError

    async with LookAheadBuffer(broken(), 10) as ahead:
        assert await ahead.next() == 1
        with pytest.raises(ZeroDivisionError):
            await ahead.next()
