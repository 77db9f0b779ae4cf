"""The turn model runs concurrently with the call: a turn ends without its judgement, too."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np

from voiceagent.conversation.config import BudgetConfig
from voiceagent.conversation.events import Event, TurnJudged
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.deadlines import StageLimits
from voiceagent.session.services import Measuring
from voiceagent.session.turn_detection import TurnJudge
from voiceagent.telemetry.metrics import Metrics

SOUND = np.zeros(16_000, np.int16)


class Model:
    """Answers what a test says, or never (None); `over` is set after the last answer."""

    def __init__(self, *answers: float | Exception | None) -> None:
        self._answers = list(answers)
        self.over = asyncio.Event()

    async def complete(self, sound: Any) -> float:
        answer = self._answers.pop(0)
        try:
            if answer is None:
                await asyncio.Event().wait()
            if isinstance(answer, Exception):
                raise answer
            return answer or 0.0
        finally:
            if not self._answers:
                self.over.set()


def judge_of(model: Model, limit_s: float = 0.01) -> tuple[TurnJudge, asyncio.Queue[Event], Metrics]:
    """A judge, what it posts, and the metrics of its call."""
    posted: asyncio.Queue[Event] = asyncio.Queue()
    metrics = Metrics()
    measuring = Measuring(metrics, BudgetConfig().to_budget(), time.monotonic)
    limits = StageLimits(turn_model_s=limit_s)
    monitor = CallMonitor("tested", measuring, limits, lambda awaited, reason: None, lambda: None)
    return TurnJudge(model, posted.put_nowait, monitor), posted, metrics  # type: ignore[arg-type] - a fake


async def test_its_judgement_is_posted() -> None:
    judge, posted, _ = judge_of(Model(0.7), limit_s=30.0)
    judge.ask("item_1", SOUND)
    assert await posted.get() == TurnJudged("item_1", 0.7)


async def test_a_model_that_does_not_answer_is_given_up() -> None:
    model = Model(None)
    judge, posted, _ = judge_of(model)
    judge.ask("item_1", SOUND)
    await model.over.wait()
    assert posted.empty()


async def test_a_model_that_raises_is_counted_and_nothing_is_posted() -> None:
    model = Model(ZeroDivisionError("of the model"))
    judge, posted, metrics = judge_of(model, limit_s=30.0)
    judge.ask("item_1", SOUND)
    await model.over.wait()
    await asyncio.sleep(0)
    assert posted.empty()
    [family] = metrics.call_faults.collect()
    assert [sample.value for sample in family.samples if sample.name.endswith("_total")] == [1.0]


async def test_a_newer_question_drops_the_older_one() -> None:
    model = Model(None, 0.4)
    judge, posted, _ = judge_of(model, limit_s=30.0)
    judge.ask("item_1", SOUND)
    await asyncio.sleep(0)
    judge.ask("item_1", SOUND)
    assert await posted.get() == TurnJudged("item_1", 0.4)
