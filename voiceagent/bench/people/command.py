"""`voiceagent bench people`: turns, words and waits on recordings, beside other ends of turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from audio.smart_turn import TurnModelError
from voiceagent.bench.people.conditions import Condition, under
from voiceagent.bench.people.material import Clip, Half, read_clips
from voiceagent.bench.people.offline import run_offline, run_silence_alone
from voiceagent.bench.people.outcome import (
    Figures,
    Outcome,
    Point,
    by_kind,
    cut_off_at,
    operating_point,
    wait_at,
)
from voiceagent.bench.people.smart_turn_alone import ASKED_AFTER_S, THRESHOLDS, judge_by_smart_turn
from voiceagent.config.tables import Config
from voiceagent.conversation.latency import percentile
from voiceagent.conversation.settings import Eagerness
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed

SILENCES_S = (0.2, 0.5, 0.8)
EAGERNESSES: tuple[Eagerness, ...] = ("high", "auto", "low")
EOT_WAIT_MS, EOT_CUT_OFF = 300.0, 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured.

    folders: of recordings, with a manifest each. half: of the split. kinds: none for all. conditions: what is
    done to the sound. beside: measure other ways to find a turn's end too, and other eagernesses. plot: a PNG
    file of the curves.
    """

    folders: tuple[Path, ...]
    half: Half = "measure"
    kinds: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    beside: bool = False
    plot: Path | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """ours: with the configuration as it is. curves: operating points by system, where they were wanted."""

    ours: list[Outcome]
    curves: dict[str, list[Point]] = field(default_factory=dict)


def bench_people(config: Config, plan: Plan, as_json: bool) -> None:
    """Measure and print. Raises CommandFailed, ConfigError."""
    configure_log(config.log.format, "error")
    recordings = read_clips(plan.folders, plan.half, plan.kinds, config.agent.language)
    clips = [under(clip, plan.conditions) for clip in recordings]
    results = _measure(config, clips, beside=plan.beside or plan.plot is not None)
    if as_json:
        print(json.dumps(_as_json(results), indent=2))
    else:
        _print(results)
    if plan.plot is not None:
        from voiceagent.bench.people.plot import plot_curves  # noqa: PLC0415  only here is matplotlib needed

        plot_curves(results.curves, plan.plot)


def _measure(config: Config, clips: Sequence[Clip], *, beside: bool) -> Results:
    runs = 1 + (len(EAGERNESSES) + len(SILENCES_S) - 1 if beside else 0)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("recordings", total=runs * len(clips))

        def done(_: Clip) -> None:
            progress.advance(task)

        configured = run_offline(config, clips, done)
        if not beside:
            return Results(configured)
        chosen = config.turn.eagerness
        runs_of_ours = {
            eagerness: configured
            if eagerness == chosen
            else run_offline(_eager(config, eagerness), clips, done)
            for eagerness in EAGERNESSES
        }
        silence = {seconds: run_silence_alone(config, seconds, clips, done) for seconds in SILENCES_S}
    try:
        judged = judge_by_smart_turn(silence[ASKED_AFTER_S])
    except TurnModelError as error:
        raise CommandFailed(str(error)) from error
    return Results(
        configured,
        {
            "this agent": [operating_point(name, outcomes) for name, outcomes in runs_of_ours.items()],
            "silence alone": [
                operating_point(f"{seconds * 1000:.0f} ms", outcomes) for seconds, outcomes in silence.items()
            ],
            "Smart Turn v3 alone": [
                operating_point(f"{threshold}", [one.at(threshold) for one in judged])
                for threshold in THRESHOLDS
            ],
        },
    )


def _eager(config: Config, eagerness: Eagerness) -> Config:
    return config.model_copy(update={"turn": config.turn.model_copy(update={"eagerness": eagerness})})


def _print(results: Results) -> None:
    console = Console()
    console.print(_kinds(by_kind(results.ours)))
    if results.curves:
        console.print(_curves(results.curves))


def _kinds(kinds: Mapping[str, Figures]) -> Table:
    table = Table(
        "kind",
        "recordings",
        "over one turn",
        "turns too many",
        "false starts",
        "wait p50, p95 ms",
        "words wrong",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, found in kinds.items():
        waits = found.waits_ms or found.decisions_ms
        words = found.words
        table.add_row(
            kind,
            str(found.clips),
            f"{found.split:.0%}",
            str(found.extra_turns),
            f"{found.false_starts:.0%}",
            f"{percentile(waits, 50):.0f}, {percentile(waits, 95):.0f}" if waits else "",
            f"{words.errors} of {words.words}, {words.rate:.0%}" if words.words else "",
        )
    return table


def _curves(curves: Mapping[str, Sequence[Point]]) -> Table:
    title = "eot-bench's measures, on other recordings: not comparable with those it publishes"
    table = Table(
        "system",
        "cut off %, wait to the decision, mean ms",
        f"cut off at {EOT_WAIT_MS:.0f} ms",
        f"wait at {EOT_CUT_OFF:.0%} cut off",
        title=title,
    )
    for name, points in curves.items():
        shown = "; ".join(f"{point.name}: {point.cut_off:.0%}, {point.wait_ms:.0f}" for point in points)
        cut_off, wait_ms = cut_off_at(points, EOT_WAIT_MS), wait_at(points, EOT_CUT_OFF)
        table.add_row(
            name,
            shown,
            "" if cut_off is None else f"{cut_off:.0%}",
            "" if wait_ms is None else f"{wait_ms:.0f} ms",
        )
    return table


def _as_json(results: Results) -> dict[str, Any]:
    return {
        "kinds": {kind: found.as_json() for kind, found in by_kind(results.ours).items()},
        "recordings": [_outcome_as_json(outcome) for outcome in results.ours],
        "curves": {
            name: [{"at": one.name, "cut off": one.cut_off, "wait ms": one.wait_ms} for one in points]
            for name, points in results.curves.items()
        },
    }


def _outcome_as_json(outcome: Outcome) -> dict[str, Any]:
    words = outcome.word_errors
    return {
        "recording": outcome.clip.name,
        "kind": outcome.clip.kind,
        "speaker": outcome.clip.speaker,
        "voice end s": outcome.clip.voice_end_s,
        "decided s": outcome.decided_s,
        "sounds s": [(sound.begin_s, sound.seconds) for sound in outcome.sounds],
        "wait s": outcome.wait_s,
        "false start": outcome.is_false_start,
        "understood": outcome.texts,
        "said": outcome.clip.text,
        "words wrong": None if words is None else words.errors,
        "failures": outcome.failures,
    }
