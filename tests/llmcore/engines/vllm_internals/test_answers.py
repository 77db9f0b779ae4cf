"""When an engine is held for one that hangs, told by an engine without vLLM."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from llmcore.engines.vllm_internals.engine import OURS, answers

REPORT = {"steps": 7}


class Core:
    """Answers after `after_s`, or dies instead."""

    def __init__(self, after_s: float, error: Exception | None = None) -> None:
        self._after_s, self._error = after_s, error

    async def call_utility_async(self, name: str) -> dict[str, Any]:
        assert name == "llmcore_report"
        await asyncio.sleep(self._after_s)
        if self._error is not None:
            raise self._error
        return REPORT


def engine(core: Core) -> Any:
    scheduler = SimpleNamespace(scheduler_cls=f"{OURS}.TurnScheduler")
    return SimpleNamespace(engine_core=core, vllm_config=SimpleNamespace(scheduler_config=scheduler))


async def test_an_engine_that_answers_tells_its_report() -> None:
    told: list[dict[str, Any]] = []
    assert await answers(engine(Core(0.0)), 10.0, told.append)
    assert told == [REPORT]


async def test_an_engine_that_does_not_answer_hangs() -> None:
    told: list[dict[str, Any]] = []
    assert not await answers(engine(Core(60.0)), 0.05, told.append)
    assert told == []


async def test_a_dead_engine_does_not_hang() -> None:
    told: list[dict[str, Any]] = []
    assert await answers(engine(Core(0.0, RuntimeError("it died"))), 10.0, told.append)
    assert told == []


async def test_an_answer_is_read_after_a_pause_of_this_process() -> None:
    told: list[dict[str, Any]] = []
    asked = asyncio.create_task(answers(engine(Core(0.02)), 0.2, told.append))
    await asyncio.sleep(0)  # it is asked,
    await asyncio.sleep(0)
    time.sleep(1.0)  # noqa: ASYNC251 - and the whole process is suspended
    assert await asked
    assert told == [REPORT]


async def test_who_no_longer_wants_to_know_leaves_no_question_behind() -> None:
    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await answers(engine(Core(60.0)), 60.0, lambda _: None)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
