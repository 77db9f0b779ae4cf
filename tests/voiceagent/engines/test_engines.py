from __future__ import annotations

import asyncio
from random import random
from typing import Any

import pytest

from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker
from voiceagent.engines.engines import Engines
from voiceagent.engines.fallback import FallbackRecognizer
from voiceagent.engines.silent import SilentRecognizer, SilentSynthesizer


class Worker:
    """Starts when all that it waits for has started."""

    rate_hz = 16_000

    def __init__(self, log: list[str], name: str, failure: Exception | None = None) -> None:
        self.log, self.name, self.failure = log, name, failure

    async def start(self) -> None:
        self.log.append(f"{self.name} begins")
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        self.log.append(f"{self.name} started")

    async def close(self) -> None:
        self.log.append(f"{self.name} closed")


def trio(log: list[str], failure: Exception | None = None) -> Engines:
    workers: list[Any] = [Worker(log, "ears"), Worker(log, "mind", failure), Worker(log, "mouth")]
    return Engines(*workers)


async def test_engines_start_side_by_side_and_each_is_timed():
    log: list[str] = []
    times = iter(range(100))
    seconds = await trio(log).start(clock=lambda: float(next(times)))
    assert log[:3] == ["ears begins", "mind begins", "mouth begins"]
    assert set(seconds) == {"recognizer", "llm", "synthesizer"}
    assert all(value > 0 for value in seconds.values())


async def test_one_engine_that_fails_to_start_closes_all():
    log: list[str] = []
    with pytest.raises(OSError, match="no model"):
        await trio(log, OSError("no model")).start()
    assert {"ears closed", "mind closed", "mouth closed"} <= set(log)


async def test_all_engines_are_closed_even_where_one_fails_to():
    log: list[str] = []
    group = trio(log)

    async def fail() -> None:
        raise OSError("stuck")

    group.recognizer.close = fail  # type: ignore[method-assign]
    with pytest.raises(OSError, match="stuck"):
        await group.close()
    assert log == ["mind closed", "mouth closed"]


async def test_engines_that_only_ask_others_are_each_workers_own_and_the_supervisor_starts_none_of_them():
    log: list[str] = []
    engines = trio(log)
    engines.recognizer.in_workers = True  # type: ignore[attr-defined]
    assert engines.worker_stages == {"recognizer"}
    await engines.shared().start()
    assert sorted(log) == ["mind begins", "mind started", "mouth begins", "mouth started"]


def test_an_engine_with_a_fallback_is_shared_as_its_circuit_breaker_is_one():
    hosted: list[Any] = [SilentRecognizer(), SilentRecognizer()]
    behind = FallbackRecognizer(
        "recognizer", *hosted, CircuitBreaker(1, Backoff(1.0, 1.0), random), timeout_s=1.0
    )
    assert Engines(hosted[0], hosted[1], SilentSynthesizer()).worker_stages == {"recognizer", "synthesizer"}
    assert Engines(behind, hosted[1], SilentSynthesizer()).worker_stages == {"synthesizer"}
