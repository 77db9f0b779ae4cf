"""Many callers on one event loop."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from voiceagent.bench import crowd as crowds
from voiceagent.bench.caller import Caller, Saying, Talker
from voiceagent.bench.crowd import Crowd, ServerBusy
from voiceagent.bench.tally import Tally


class Silent:
    """A connection that sends nothing."""

    caller: Talker | None = None
    failure = ""

    def speak(self, now_s: float) -> None: ...
    def hang_up(self) -> None: ...


def new_caller(now_s: float) -> Caller:
    saying = Saying((b"",), 0.0, 0.0)
    return Caller(now_s, iter([saying] * 9), (b"",), 6, Random(1), Tally())


async def run_with(answers: list[Exception | None], calls: int) -> Crowd:
    """Run `calls` callers until each answer was given; None takes the call, as do all later ones."""
    given = asyncio.Event()

    async def connect() -> Silent:
        answer = answers.pop(0)
        if not answers:
            given.set()
            answers.append(None)
        if answer is not None:
            raise answer
        return Silent()

    crowd = Crowd(calls, connect, new_caller, asyncio.get_running_loop().time)
    running = asyncio.create_task(crowd.run(0.0))
    done = asyncio.create_task(given.wait())
    await asyncio.wait({running, done}, return_when=asyncio.FIRST_COMPLETED)
    try:
        if running.done():
            running.result()
        await asyncio.sleep(0.1)
    finally:
        running.cancel()
        done.cancel()
        await asyncio.wait({running, done})
    return crowd


async def test_a_caller_whom_a_busy_server_refuses_calls_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "AGAIN_S", 0.01)
    crowd = await run_with([None, ServerBusy("2 of 2 slots"), ServerBusy("2 of 2 slots"), None], calls=2)
    assert crowd.refused == ["2 of 2 slots"] * 2
    assert crowd.called_s > 0


async def test_a_server_that_takes_no_call_at_all_ends_the_measurement() -> None:
    with pytest.raises(ServerBusy, match="no slots"):
        await run_with([ServerBusy("no slots"), None], calls=1)


async def test_restarting_forgets_refusals_and_the_seconds_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "AGAIN_S", 0.01)
    crowd = await run_with([None, ServerBusy("2 of 2 slots"), None], calls=2)
    crowd.restart()
    assert (crowd.refused, crowd.called_s) == ([], 0.0)
