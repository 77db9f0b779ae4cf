"""`voiceagent bench turns`: how long the stages of a turn take, over many turns at the pace of real time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import uvloop
from rich.console import Console
from rich.progress import track
from rich.table import Table

from audio.resample import resample
from audio.synthesizers import Synthesizer
from voiceagent.bench.voiced import voice_end_s
from voiceagent.config import Config
from voiceagent.engines import build
from voiceagent.failures import CommandFailed
from voiceagent.latency import STAGES, LatencyBudget, percentile
from voiceagent.local_call import FORMAT, Exchange, LocalCall
from voiceagent.services import Services
from voiceagent.startup import started
from voiceagent.talk import Question, read_questions
from voiceagent.telemetry import Metrics, configure_log

SPOKEN_QUESTIONS = (
    "What time is breakfast?",
    "Do you have a swimming pool?",
    "How much is a double room?",
    "Can I bring my dog?",
    "Where can I park my car?",
    "Is there wireless internet in the rooms?",
    "When do I have to check out?",
    "Could you call me a taxi?",
)
"""Spoken by the configured synthesizer where no recordings are given."""
TURNS_A_CALL = 6
"""A new call after so many turns, so that the history stays as long as that of a real call."""


@dataclass(slots=True)
class Measured:
    """What the turns came to, in milliseconds.

    stages: by stage, in pipeline order, then "total", the last voiced sample to the first frame sent.
    by_energy: the same total, with the last voiced sample found by the recording's energy, not the detector.
    split: recordings that were taken for several turns. unanswered: those without any reply.
    """

    stages: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in (*STAGES, "total")})
    by_energy: list[float] = field(default_factory=list)
    hidden: list[float] = field(default_factory=list)
    turns: int = 0
    split: int = 0
    unanswered: int = 0

    def add(self, question: Question, exchange: Exchange) -> None:
        """Count one turn; only one that was answered as a whole has a latency."""
        self.turns += 1
        if not exchange.reports or exchange.first_frame_s is None:
            self.unanswered += 1
            return
        if len(exchange.understood) > 1:
            self.split += 1
            return
        report = exchange.reports[-1]
        for stage in report.stages:
            self.stages[stage.name].append(stage.duration_us / 1000)
        self.stages["total"].append(report.total_us / 1000)
        self.hidden.append(report.hidden_us / 1000)
        voice_end = exchange.spoken_from_s + voice_end_s(question.sound, FORMAT.rate_hz)
        self.by_energy.append((exchange.first_frame_s - voice_end) * 1000)

    def rows(self) -> dict[str, list[float]]:
        """All that has values, by name."""
        rows = {**self.stages, "total by energy": self.by_energy, "hidden": self.hidden}
        return {name: values for name, values in rows.items() if values}


def bench_turns(config: Config, paths: Sequence[Path], turns: int, as_json: bool) -> None:
    """Measure `turns` turns and print p50, p95 and the slowest of each stage.

    Raises CommandFailed, ConfigError.
    """
    configure_log(config.log.format, "warning")
    measured = uvloop.run(_measure(config, read_questions(paths), turns))
    if as_json:
        print(json.dumps(_as_json(measured), indent=2))
    else:
        _print(measured, config.budget.to_budget())
    if not measured.by_energy:
        raise CommandFailed("no turn was answered: is there speech in the recordings?")


async def _measure(config: Config, questions: Sequence[Question], turns: int) -> Measured:
    measured = Measured()
    async with started(config, build(config), Metrics()) as (services, _):
        if not questions:
            questions = await _speak_questions(services.engines.synthesizer)
        line = list(islice(cycle(questions), turns))
        calls = [line[start : start + TURNS_A_CALL] for start in range(0, len(line), TURNS_A_CALL)]
        for asked in track(calls, description="calls", console=Console(stderr=True), transient=True):
            await _measure_call(services, asked, measured)
    return measured


async def _measure_call(services: Services, questions: Sequence[Question], measured: Measured) -> None:
    async with LocalCall(services, services.config.call_settings()) as call:
        for question in questions:
            measured.add(question, await call.say(question.sound))


async def _speak_questions(synthesizer: Synthesizer) -> list[Question]:
    questions = []
    for text in SPOKEN_QUESTIONS:
        async with aclosing(synthesizer.speak(text)) as speeches:
            sound = np.concatenate([speech.samples async for speech in speeches])
        questions.append(Question(text, resample(sound, synthesizer.rate_hz, FORMAT.rate_hz)))
    return questions


def _print(measured: Measured, budget: LatencyBudget) -> None:
    title = f"{len(measured.by_energy)} of {measured.turns} turns"
    caption = f"split: {measured.split}, unanswered: {measured.unanswered}"
    table = Table("stage", "p50 ms", "p95 ms", "max ms", "budget", title=title, caption=caption)
    for column in table.columns[1:]:
        column.justify = "right"
    budgets: dict[str, float | None] = {str(name): limit_s for name, limit_s in budget.stages.items()}
    budgets["total"] = budget.total_s
    for name, values in measured.rows().items():
        limit_s = budgets.get(name)
        allowed = "" if limit_s is None else f"{limit_s * 1000:.0f}"
        p50, p95 = percentile(values, 50), percentile(values, 95)
        table.add_row(name, f"{p50:.1f}", f"{p95:.1f}", f"{max(values):.1f}", allowed)
    Console().print(table)


def _as_json(measured: Measured) -> dict[str, Any]:
    return {
        "turns": measured.turns,
        "measured": len(measured.by_energy),
        "split": measured.split,
        "unanswered": measured.unanswered,
        "milliseconds": {
            name: {"p50": percentile(values, 50), "p95": percentile(values, 95), "max": max(values)}
            for name, values in measured.rows().items()
        },
    }
