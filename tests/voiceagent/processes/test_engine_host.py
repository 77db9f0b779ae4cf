"""Streams through the process of a blocking engine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hosted_engines import WINDOW, all_of, each, hosted_engine
from worker_engines import EngineError

from voiceagent.processes.engine_host import EngineHost


async def endless(item: Any, counted: list[int]) -> AsyncGenerator[Any, None]:
    while True:
        counted[0] += 1
        yield item


async def settled() -> None:
    """Everything that can run without waiting for anybody has run."""
    for _ in range(500):
        await asyncio.sleep(0)


async def waited_for(pipe: Path) -> int:
    """Return the pipe's end to write to, once the other end is being read."""
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads it yet
            await asyncio.sleep(0.01)


async def test_values_come_back_in_order_and_then_the_stream_ends() -> None:
    host = EngineHost(hosted_engine("Echo"))
    await host.start()
    assert await all_of(host, 1, "two", b"three") == [1, "two", b"three", "the end"]
    await host.close()


async def test_facts_of_the_engine_are_known_once_it_is_started() -> None:
    host = EngineHost(hosted_engine("Echo", rate_hz=22_050))
    await host.start()
    assert host.facts == {"rate_hz": 22_050}
    await host.close()


async def test_streams_at_once_do_not_mix(host: EngineHost) -> None:
    texts = [[f"{name}{number}" for number in range(50)] for name in "abc"]
    heard = await asyncio.gather(*(all_of(host, *(("give", text) for text in mine)) for mine in texts))
    assert heard == texts


async def test_a_stream_takes_its_turn_while_another_goes_on_and_on(host: EngineHost) -> None:
    counted = [0]
    async with aclosing(host.stream(endless(("give", "x"), counted))) as busy:
        await anext(busy)
        assert await all_of(host, ("give", "mine")) == ["mine"]


async def test_steps_of_an_item_are_all_done_before_the_stream_ends() -> None:
    host = EngineHost(hosted_engine("Stepping"))
    await host.start()
    assert await all_of(host, "ab", "c") == ["a", "b", "c", "the end"]
    await host.close()


async def test_new_stream_has_its_turn_between_the_steps_of_another() -> None:
    host = EngineHost(hosted_engine("Stepping"))
    await host.start()
    async with aclosing(host.stream(each("x" * 1_000_000))) as busy:
        await anext(busy)
        assert await all_of(host, "ab") == ["a", "b", "the end"]
    await host.close()


async def test_closing_before_the_first_item_opens_nothing(host: EngineHost) -> None:
    await host.stream(each(("give", 1))).aclose()
    assert await all_of(host, ("tell seen", None)) == [["opened"]]


async def test_closing_in_the_middle_stops_the_engine(host: EngineHost) -> None:
    async with aclosing(host.stream(each(("give for good", None)))) as stream:
        assert await anext(stream) == "more"
    [seen] = await all_of(host, ("tell seen", None))
    assert seen == ["opened", "stopped", "give for good", "closed", "opened"]


async def test_closing_does_not_wait_for_an_engine_that_is_busy(host: EngineHost, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    stream = host.stream(each(("give", "begun"), ("wait for", str(pipe)), ("give", "never")))
    assert await anext(stream) == "begun"
    end = await waited_for(pipe)
    await stream.aclose()  # while the worker reads the pipe
    os.close(end)
    [seen] = await all_of(host, ("tell seen", None))
    assert seen == ["opened", "give", "wait for", "closed", "opened"]


async def test_a_consumer_that_is_cancelled_closes_the_stream(host: EngineHost) -> None:
    async def listen() -> None:
        async with aclosing(host.stream(each(("give for good", None)))) as stream:
            async for _ in stream:
                listening.set()

    listening = asyncio.Event()
    task = asyncio.create_task(listen())
    await listening.wait()
    task.cancel()
    await asyncio.wait([task])
    [seen] = await all_of(host, ("tell seen", None))
    assert "stopped" in seen


async def test_an_error_of_the_engine_ends_the_stream_in_its_words(host: EngineHost) -> None:
    with pytest.raises(EngineError, match=r"^tested: no such voice$"):
        await all_of(host, ("fail", "no such voice"))
    assert await all_of(host, ("give", 1)) == [1]


async def test_values_before_a_failure_are_delivered(host: EngineHost) -> None:
    stream = host.stream(each(("give", 1), ("fail", "out of breath")))
    assert await anext(stream) == 1
    with pytest.raises(EngineError, match="out of breath"):
        await anext(stream)


async def test_any_other_exception_of_the_engine_is_reported_with_its_type(host: EngineHost) -> None:
    with pytest.raises(EngineError, match=r"^tested: KeyError: 'lost'$"):
        await all_of(host, ("stumble", "lost"))


async def test_what_the_callers_iterator_raises_reaches_the_consumer(host: EngineHost) -> None:
    async def broken() -> AsyncGenerator[Any, None]:
        yield "give", 1
        raise ZeroDivisionError("of the caller")

    stream = host.stream(broken())
    with pytest.raises(ZeroDivisionError, match="of the caller"):
        async for _ in stream:
            pass


async def test_the_callers_generator_is_closed_with_the_stream(host: EngineHost) -> None:
    closed = asyncio.Event()

    async def items() -> AsyncGenerator[Any, None]:
        try:
            yield "give", 1
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with aclosing(host.stream(items())) as stream:
        await anext(stream)
    assert closed.is_set()


async def test_a_busy_engine_is_sent_no_more_than_the_window(host: EngineHost, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    counted = [0]

    async def items() -> AsyncGenerator[Any, None]:
        yield "wait for", str(pipe)
        async for item in endless(("ignore", bytes(256)), counted):
            yield item

    async with aclosing(host.stream(items())) as stream:
        reading = asyncio.create_task(anext(stream))
        end = await waited_for(pipe)
        await settled()
        assert 1 < counted[0] <= WINDOW // 256
        os.close(end)
        reading.cancel()
        await asyncio.wait([reading])


async def test_an_engine_is_at_most_the_window_ahead_of_its_consumer(
    host: EngineHost,
) -> None:
    gives = [("give", bytes(256))] * 100
    async with aclosing(host.stream(each(*gives))) as unread:
        await anext(unread)
        [seen] = await all_of(host, *[("ignore", None)] * 100, ("tell seen", None))
        assert 1 < seen.count("give") <= WINDOW // 256 + 2
        assert len([value async for value in unread]) == 99


async def test_unread_values_that_newer_ones_make_worthless_are_left_out(
    host: EngineHost,
) -> None:
    values = ["draft 1", "draft 2", "kept 1", "draft 3", "draft 4", "kept 2"]
    async with aclosing(
        host.stream(each(("give", "begun"), *(("give", value) for value in values)))
    ) as stream:
        assert await anext(stream) == "begun"
        await all_of(host, *[("ignore", None)] * 100)
        assert [value async for value in stream] == ["kept 1", "kept 2"]


async def test_worthless_values_give_their_room_back(host: EngineHost) -> None:
    drafts = [("give", f"draft {number:0256}") for number in range(100)]
    async with aclosing(host.stream(each(("give", "begun"), *drafts))) as stream:
        assert await anext(stream) == "begun"
        seen: list[str] = []
        while seen.count("give") < 101:  # all of them were taken in, though nobody reads
            [seen] = await all_of(host, ("tell seen", None))


async def test_streams_go_to_the_least_busy_of_several_workers() -> None:
    host = EngineHost(hosted_engine("Obedient"), workers=2)
    await host.start()
    ask = ("tell process", None)
    async with (
        aclosing(host.stream(each(ask, ("give for good", None)))) as one,
        aclosing(host.stream(each(ask, ("give for good", None)))) as other,
    ):
        assert {await anext(one), await anext(other)} == set(host.process_ids)
    await host.close()
