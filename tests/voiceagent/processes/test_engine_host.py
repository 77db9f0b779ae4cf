from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
import uvloop
from worker_engines import EngineError

from voiceagent.processes.engine_host import EngineHost, HostedEngine
from voiceagent.processes.messages import Windows

WINDOW = 4_096


def served(engine: str, **arguments: Any) -> HostedEngine:
    return HostedEngine(
        name="tested",
        engine=f"worker_engines:{engine}",
        arguments=arguments,
        error=EngineError,
        facts=("rate_hz",) if engine == "Echo" else (),
        windows=Windows(WINDOW, WINDOW),
        replaceable=lambda value: isinstance(value, str) and value.startswith("draft"),
    )


@pytest_asyncio.fixture(name="host")
async def obedient_host() -> AsyncIterator[EngineHost]:
    host = EngineHost(served("Obedient"))
    await host.start()
    yield host
    await host.close()


async def each(*items: Any) -> AsyncGenerator[Any, None]:
    for item in items:
        yield item


async def endless(item: Any, counted: list[int]) -> AsyncGenerator[Any, None]:
    while True:
        counted[0] += 1
        yield item


async def all_of(host: EngineHost, *items: Any) -> list[Any]:
    async with aclosing(host.stream(each(*items))) as stream:
        return [value async for value in stream]


async def settled() -> None:
    """Everything that can run without waiting for anybody has run."""
    for _ in range(500):
        await asyncio.sleep(0)


async def waited_for(pipe: Path) -> int:
    """The end of the pipe to write to, once somebody waits at the other."""
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads it yet
            await asyncio.sleep(0.01)


async def test_values_come_back_in_order_and_then_the_stream_ends() -> None:
    host = EngineHost(served("Echo"))
    await host.start()
    assert await all_of(host, 1, "two", b"three") == [1, "two", b"three", "the end"]
    await host.close()


async def test_facts_of_the_engine_are_known_once_it_is_started() -> None:
    host = EngineHost(served("Echo", rate_hz=22_050))
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


async def test_what_the_engine_raises_for_its_user_ends_the_stream_with_these_words(host: EngineHost) -> None:
    with pytest.raises(EngineError, match=r"^tested: no such voice$"):
        await all_of(host, ("fail", "no such voice"))
    assert await all_of(host, ("give", 1)) == [1]


async def test_values_before_a_failure_are_delivered(host: EngineHost) -> None:
    stream = host.stream(each(("give", 1), ("fail", "out of breath")))
    assert await anext(stream) == 1
    with pytest.raises(EngineError, match="out of breath"):
        await anext(stream)


async def test_any_other_exception_of_the_engine_is_told_with_its_type(host: EngineHost) -> None:
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


async def test_an_engine_that_cannot_be_built_is_told_at_the_start_and_leaves_nothing() -> None:
    host = EngineHost(served("Unbuildable"), workers=2)
    with pytest.raises(EngineError, match=r"^tested: the model is not in '/models'$"):
        await host.start()
    assert host.process_ids == []


async def test_a_package_that_is_missing_is_named() -> None:
    host = EngineHost(HostedEngine("tested", "package_of_nobody:Engine", {}, EngineError))
    with pytest.raises(EngineError, match="needs the Python package 'package_of_nobody'"):
        await host.start()


async def test_a_caller_is_asked_for_no_more_than_the_window_while_the_engine_is_busy(
    host: EngineHost, tmp_path: Path
) -> None:
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


async def test_an_engine_gets_no_more_than_the_window_ahead_of_its_consumer(
    host: EngineHost,
) -> None:
    gives = [("give", bytes(256))] * 100
    async with aclosing(host.stream(each(*gives))) as unread:
        await anext(unread)
        [seen] = await all_of(host, *[("ignore", None)] * 100, ("tell seen", None))
        assert 1 < seen.count("give") <= WINDOW // 256 + 2
        assert len([value async for value in unread]) == 99


async def test_a_value_that_a_newer_one_makes_worthless_is_left_out_where_nobody_read_it(
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


async def test_a_worker_that_is_killed_fails_its_streams_and_is_started_again(host: EngineHost) -> None:
    async with aclosing(host.stream(each(("give", 1), ("give for good", None)))) as stream:
        assert await anext(stream) == 1
        os.kill(host.process_ids[0], signal.SIGKILL)
        with pytest.raises(EngineError, match=r"^tested: the worker process died \(exit status -9\)$"):
            async for _ in stream:
                pass
    assert await all_of(host, ("give", 2)) == [2]
    assert host.restarts == 1


async def test_a_worker_that_died_between_streams_is_noticed_by_the_next(host: EngineHost) -> None:
    first = host.process_ids[0]
    os.kill(first, signal.SIGKILL)
    psutil.Process(first).wait(timeout=10)
    assert await all_of(host, ("tell process", None)) == host.process_ids
    assert host.restarts == 1


async def test_a_worker_that_keeps_dying_at_its_start_is_given_up(tmp_path: Path) -> None:
    (lamp := tmp_path / "lamp").touch()
    host = EngineHost(served("Fading", lamp=str(lamp)))
    await host.start()
    lamp.unlink()
    os.kill(host.process_ids[0], signal.SIGKILL)
    while host.process_ids:  # noqa: ASYNC110 - its dying is no event of this process
        await asyncio.sleep(0.01)
    reason = r"^tested: given up after 3 starts that failed: the worker process died \(exit status 7\)$"
    with pytest.raises(EngineError, match=reason):
        await all_of(host, 1)
    assert host.restarts == 3
    lamp.touch()
    await host.start()
    assert await all_of(host, 1) == [1, "the end"]
    await host.close()


async def test_a_process_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/python")
    with pytest.raises(EngineError, match=r"no process can be started: .*'/no/python'"):
        await EngineHost(served("Echo")).start()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_to_the_whole_group_leaves_the_worker_to_its_host(
    host: EngineHost, signal_number: int
) -> None:
    before = host.process_ids
    os.kill(before[0], signal_number)
    assert await all_of(host, ("tell process", None)) == before
    assert host.restarts == 0


async def test_streams_go_to_the_min_busy_of_several_workers() -> None:
    host = EngineHost(served("Obedient"), workers=2)
    await host.start()
    ask = ("tell process", None)
    async with (
        aclosing(host.stream(each(ask, ("give for good", None)))) as one,
        aclosing(host.stream(each(ask, ("give for good", None)))) as other,
    ):
        assert {await anext(one), await anext(other)} == set(host.process_ids)
    await host.close()


async def test_closing_the_host_fails_what_runs_and_leaves_no_process_and_no_descriptor() -> None:
    descriptors = psutil.Process().num_fds()
    host = EngineHost(served("Obedient"), workers=2)
    await host.start()
    processes = host.process_ids
    stream = host.stream(each(("give", 1), ("give for good", None)))
    await anext(stream)
    await host.close()
    await host.close()
    with pytest.raises(EngineError, match=r"^tested: closed$"):
        async for _ in stream:
            pass
    assert not any(map(psutil.pid_exists, processes))
    assert psutil.Process().num_fds() == descriptors


async def test_a_stream_of_a_host_that_is_not_started_raises() -> None:
    with pytest.raises(EngineError, match=r"^tested: not started$"):
        await all_of(EngineHost(served("Echo")), 1)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_host_serves_one_event_loop_after_the_other(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def left_open() -> None:
        await anext(host.stream(each(("give", 0), ("give for good", None))))

    def in_a_loop(work: Any) -> Any:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(work)

    host = EngineHost(served("Obedient"))
    in_a_loop(host.start())
    [before] = host.process_ids
    in_a_loop(left_open())
    assert in_a_loop(all_of(host, ("tell process", None))) == [before]
    in_a_loop(host.close())
    assert not psutil.pid_exists(before)


def test_a_worker_ends_with_a_host_that_is_killed_and_never_runs_its_script(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
import asyncio
from voiceagent.processes.engine_host import EngineHost, HostedEngine

async def main():
    host = EngineHost(HostedEngine("tested", "worker_engines:Echo", {}, RuntimeError))
    await host.start()
    print(*host.process_ids, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=environment) as running:
        assert running.stdout is not None
        worker = psutil.Process(int(running.stdout.readline()))
        running.kill()
        worker.wait(timeout=10)
        assert running.stdout.read() == b""
