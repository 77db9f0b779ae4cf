"""`voiceagent bench turns`: latency of the stages of a turn, over many real-time turns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

import uvloop
from rich.console import Console
from rich.progress import track
from rich.table import Table

from voiceagent.bench.material import Material, shuffled
from voiceagent.bench.measured import Measured
from voiceagent.bench.speech import (
    find_recordings,
    running_synthesizer,
    speak_paused_questions,
    speak_questions,
)
from voiceagent.config.tables import Config
from voiceagent.conversation.latency import LatencyBudget, percentile
from voiceagent.server.engine_building import build_engines
from voiceagent.server.startup import started
from voiceagent.session.services import Services
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import LocalCall, Recording, read_recordings
from voiceagent.validation.errors import CommandFailed

Part = Literal["preemptive", "prefill_while_speaking", "turn_model", "semantic", "resume"]
PARTS: tuple[Part, ...] = get_args(Part)
_ATTEMPTS = 5
_RESUME_S = 1.0
"""`turn.resume_s` of a run with that technique on."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A configuration with one technique toggled; `part` is None for the configuration itself."""

    part: Part | None
    is_on: bool
    config: Config

    @property
    def name(self) -> str:
        """Name in reports."""
        return "as configured" if self.part is None else f"{self.part} {'on' if self.is_on else 'off'}"


def parse_parts(text: str) -> tuple[Part, ...]:
    """Parse names of techniques, separated by commas. Raises CommandFailed for an unknown one."""
    known = {str(part): part for part in PARTS}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise CommandFailed(f"{name!r} is no part of turn-taking; allowed: {', '.join(PARTS)}")
    return tuple(known[name] for name in names)


def is_on(config: Config, part: Part) -> bool:
    """Return True if a configuration uses a technique."""
    turn = config.turn
    match part:
        case "preemptive":
            return turn.preemptive_attempts > 0
        case "prefill_while_speaking":
            return turn.prefill_while_speaking
        case "turn_model":
            return bool(turn.model)
        case "semantic":
            return turn.detection == "semantic_vad"
        case "resume":
            return turn.resume_s > 0


def turned(config: Config, part: Part, on: bool) -> Config:
    """Return the configuration with one technique on or off."""
    changes: dict[Part, dict[str, Any]] = {
        "preemptive": {"preemptive_attempts": _ATTEMPTS if on else 0},
        "prefill_while_speaking": {"prefill_while_speaking": on},
        "turn_model": {"model": "installed" if on else ""},
        "semantic": {"detection": "semantic_vad" if on else "server_vad"},
        "resume": {"resume_s": _RESUME_S if on else 0.0},
    }
    return config.model_copy(update={"turn": config.turn.model_copy(update=changes[part])})


def variants(config: Config, parts: Sequence[Part]) -> list[Variant]:
    """Return the configuration, then a variant for each technique with that one toggled."""
    flipped = [(part, not is_on(config, part)) for part in parts]
    return [
        Variant(None, True, config),
        *(Variant(part, on, turned(config, part, on)) for part, on in flipped),
    ]


TURNS_A_CALL = 6
"""Maximum turns of a call, so that the history is as long as in real calls."""
STAGGER_S = 2.0
"""Concurrent calls begin within this time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a measurement.

    recordings: files or folders. questions, paused: also speak the material's questions, without and with
    pauses, by the synthesizer of `voice`. turns: number per variant, in `calls` concurrent calls. compare:
    techniques to toggle in turn. seed: of all random choices.
    """

    material: Material
    recordings: tuple[Path, ...] = ()
    questions: bool = True
    paused: bool = True
    voice: Config | None = None
    turns: int = 30
    calls: int = 1
    compare: tuple[Part, ...] = ()
    seed: int = 1


Results = list[tuple[Variant, Measured]]


def bench_turns(config: Config, plan: Plan, as_json: bool) -> None:
    """Measure the turns of a plan and print the results.

    Raises CommandFailed, ConfigError.
    """
    configure_log(config.log.format, "warning")
    results = uvloop.run(_measure_all(config, plan))
    if as_json:
        print(json.dumps(_as_json(results), indent=2))
    else:
        _print(results, config.budget.to_budget())
    if not all(measured.to_first_frame for _, measured in results):
        raise CommandFailed("no turn was answered: is there speech in the recordings?")


async def _measure_all(config: Config, plan: Plan) -> Results:
    questions = await _material(config, plan)
    results: Results = []
    for variant in variants(config, plan.compare):
        results.append((variant, await _measure(variant, questions, plan)))
    return results


async def _material(config: Config, plan: Plan) -> list[Recording]:
    questions = read_recordings(find_recordings(plan.recordings))
    if not plan.questions and not plan.paused:
        return questions
    async with running_synthesizer(plan.voice or config) as synthesizer:
        if plan.questions:
            questions += await speak_questions(plan.material, synthesizer)
        if plan.paused:
            questions += await speak_paused_questions(plan.material, synthesizer, Random(plan.seed))
    return questions


async def _measure(variant: Variant, questions: Sequence[Recording], plan: Plan) -> Measured:
    """Measure a variant with fresh engines, so that it finds no cache of another."""
    random, measured = Random(plan.seed), Measured()
    line = list(islice(shuffled(questions, random), plan.turns))
    turns_a_call = min(TURNS_A_CALL, -(-len(line) // plan.calls))
    calls = [line[start : start + turns_a_call] for start in range(0, len(line), turns_a_call)]
    shown = iter(track(calls, description=variant.name, console=Console(stderr=True), transient=True))
    async with started(variant.config, build_engines(variant.config), Metrics()) as (services, _):

        async def one_after_the_other(begin_s: float) -> None:
            await asyncio.sleep(begin_s)
            for asked in shown:
                await _measure_call(services, asked, measured)

        waits = [random.uniform(0, STAGGER_S) if plan.calls > 1 else 0.0 for _ in range(plan.calls)]
        await asyncio.gather(*(one_after_the_other(begin_s) for begin_s in waits))
    return measured


async def _measure_call(services: Services, questions: Sequence[Recording], measured: Measured) -> None:
    async with LocalCall(services) as call:
        for question in questions:
            measured.add(question, await call.say(question.sound))


def _print(results: Results, budget: LatencyBudget) -> None:
    console = Console()
    base = results[0][1]
    console.print(_stages(base, budget))
    console.print(_summary(base))
    for variant, measured in results[1:]:
        on, off = (measured, base) if variant.is_on else (base, measured)
        console.print(_comparison(str(variant.part), on, off))


def _stages(measured: Measured, budget: LatencyBudget) -> Table:
    title = f"{len(measured.to_first_frame)} of {measured.turns} turns"
    table = Table("stage", "p50 ms", "p95 ms", "max ms", "budget", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    budgets: dict[str, float | None] = {str(name): limit_s for name, limit_s in budget.stages.items()}
    budgets["total"] = budget.total_s
    for name, values in measured.rows().items():
        limit_s = budgets.get(name)
        allowed = "" if limit_s is None else f"{limit_s * 1000:.0f}"
        p50, p95 = percentile(values, 50), percentile(values, 95)
        table.add_row(name, f"{p50:.1f}", f"{p95:.1f}", f"{max(values):.1f}", allowed)
    return table


def _summary(measured: Measured) -> Table:
    table = Table("a turn", "", title="as configured")
    table.columns[1].justify = "right"
    for name, value in measured.summary().items():
        table.add_row(name, f"{value:.1f}")
    for name, which in (
        ("cut off", measured.cut_off),
        ("in two", measured.in_two),
        ("unanswered", measured.unanswered),
    ):
        if which:
            table.add_row(name, "\n".join(which))
    return table


def _comparison(part: str, on: Measured, off: Measured) -> Table:
    table = Table(part, "on", "off", "on / off")
    for column in table.columns[1:]:
        column.justify = "right"
    with_it, without = on.summary(), off.summary()
    for name in (name for name in with_it if name in without):
        ratio = f"{with_it[name] / without[name]:.2f}" if without[name] else ""
        table.add_row(name, f"{with_it[name]:.1f}", f"{without[name]:.1f}", ratio)
    return table


def _as_json(results: Results) -> dict[str, Any]:
    return _variant_as_json(results[0][1]) | {
        "variants": {variant.name: _variant_as_json(measured) for variant, measured in results[1:]}
    }


def _variant_as_json(measured: Measured) -> dict[str, Any]:
    return {
        "turns": measured.turns,
        "measured": len(measured.to_first_frame),
        "cut_off": measured.cut_off,
        "heard": measured.heard,
        "in_two": measured.in_two,
        "unanswered": measured.unanswered,
        "milliseconds": {
            name: {"p50": percentile(values, 50), "p95": percentile(values, 95), "max": max(values)}
            for name, values in measured.rows().items()
        },
        "summary": measured.summary(),
    }
