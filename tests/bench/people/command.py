"""Turns, words and waits on recordings, compared with other turn detectors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from audio.detection.smart_turn import TurnModelError
from people.calls import Calls, run_calls
from people.conditions import Condition, said_again, under
from people.material import Clip, Half, read_clips
from people.offline import Done, run_offline, run_silence_alone
from people.outcome import (
    Figures,
    Outcome,
    Point,
    alike,
    by_kind,
    cut_off_at,
    operating_point,
    wait_at,
)
from people.plots import plot_curves
from people.smart_turn_alone import ASKED_AFTER_S, THRESHOLDS, judge_by_smart_turn
from voiceagent.bench.webrtc_connection import PERFECT, Line
from voiceagent.config.tables import Config
from voiceagent.conversation.latency import percentile
from voiceagent.conversation.settings import Eagerness
from voiceagent.evals.delivery import over_line
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.terminal_table import print_table
from voiceagent.validation.errors import CommandFailed

SILENCES_S = (0.2, 0.5, 0.8)
EAGERNESSES: tuple[Eagerness, ...] = ("high", "auto", "low")
EOT_WAIT_MS, EOT_CUT_OFF = 300.0, 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a measurement.

    folders: of recordings, with a manifest each. half: of the split. kinds: () for all. conditions: applied
    to the audio. times: repetitions of each recording. line: losses of WebRTC packets, real or simulated.
    beside: also measure other turn detectors and eagernesses. plot: a PNG file of the curves. calls: make
    real-time calls; None for virtual time. answer_s: time of an answer to its first audio, in virtual time.
    peer: command of another server that takes the same calls.
    """

    folders: tuple[Path, ...]
    half: Half = "measure"
    kinds: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    times: int = 1
    line: Line = PERFECT
    beside: bool = False
    plot: Path | None = None
    calls: Calls | None = None
    answer_s: float = 0.0
    peer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """Results. ours: with the configuration. curves: operating points by system, if requested. offline: the
    same recordings in virtual time, for real calls. peer: outcomes of another server.
    """

    ours: list[Outcome]
    curves: dict[str, list[Point]] = field(default_factory=dict)
    offline: list[Outcome] = field(default_factory=list)
    peer: list[Outcome] = field(default_factory=list)


def bench_people(config: Config, plan: Plan, as_json: bool) -> None:
    """Measure and print. Raises CommandFailed, ConfigError."""
    configure_log(config.log.format, "error")
    recordings = read_clips(plan.folders, plan.half, plan.kinds, config.agent.language)
    clips = said_again([under(clip, plan.conditions) for clip in recordings], plan.times)
    if plan.calls is not None:
        results = _call(config, plan, plan.calls, clips)
    else:
        results = _measure(
            config, plan, [replace(clip, sound=over_line(clip.sound, plan.line, clip.name)) for clip in clips]
        )
    if as_json:
        print(json.dumps(_as_json(results), indent=2))
    else:
        _print(results)
    if plan.plot is not None:
        plot_curves(results.curves, plan.plot)


@contextmanager
def _progress(clips: Sequence[Clip], runs: int) -> Iterator[Done]:
    """Yield a callback to call for each recording in each of `runs` runs."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("recordings", total=runs * len(clips))
        yield lambda _: progress.advance(task)


def _call(config: Config, plan: Plan, calls: Calls, clips: Sequence[Clip]) -> Results:
    with _progress(clips, 3 if plan.peer else 2) as done:
        ours = run_calls(config, calls, (), clips, done)
        peer = run_calls(config, calls, plan.peer, clips, done) if plan.peer else []
        return Results(ours, offline=run_offline(config, clips, done), peer=peer)


def _measure(config: Config, plan: Plan, clips: Sequence[Clip]) -> Results:
    if not plan.beside and plan.plot is None:
        with _progress(clips, 1) as done:
            return Results(run_offline(config, clips, done, plan.answer_s))
    chosen = config.turn.eagerness
    with _progress(clips, len(EAGERNESSES) + len(SILENCES_S)) as done:
        ours = {
            eagerness: run_offline(_eager(config, eagerness), clips, done, plan.answer_s)
            for eagerness in dict.fromkeys((*EAGERNESSES, chosen))
        }
        silence = {seconds: run_silence_alone(config, seconds, clips, done) for seconds in SILENCES_S}
    try:
        judged = judge_by_smart_turn(silence[ASKED_AFTER_S])
    except TurnModelError as error:
        raise CommandFailed(str(error)) from error
    return Results(
        ours[chosen],
        {
            "this agent": [operating_point(name, outcomes) for name, outcomes in ours.items()],
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
    _print_kinds(by_kind(results.ours))
    if results.peer:
        console.print("The other server:")
        _print_kinds(by_kind(results.peer))
    if results.offline:
        same = alike(results.ours, results.offline)
        console.print(f"By the clock of the sound {same} of {len(results.ours)} recordings are taken alike.")
    if results.curves:
        console.print("eot-bench's measures, on other recordings: not comparable with those it publishes")
        _print_curves(results.curves)


def _print_kinds(kinds: Mapping[str, Figures]) -> None:
    heads = (
        "kind",
        "recordings",
        "over one turn",
        "turns too many",
        "false starts, s heard",
        "wait p50, p95 ms",
        "words wrong",
    )
    rows = []
    for kind, found in kinds.items():
        waits = found.waits_ms or found.decisions_ms
        words = found.words
        row = (
            kind,
            str(found.clips),
            f"{found.split:.0%}",
            str(found.extra_turns),
            f"{found.false_starts:.0%}, {found.wrong_answer_s:.2f}",
            f"{percentile(waits, 50):.0f}, {percentile(waits, 95):.0f}" if waits else "",
            f"{words.errors} of {words.words}, {words.rate:.0%}" if words.words else "",
        )
        rows.append(row)
    print_table(heads, rows)


def _print_curves(curves: Mapping[str, Sequence[Point]]) -> None:
    heads = (
        "system",
        "cut off %, wait to the decision, mean ms",
        f"cut off at {EOT_WAIT_MS:.0f} ms",
        f"wait at {EOT_CUT_OFF:.0%} cut off",
    )
    rows = []
    for name, points in curves.items():
        shown = "; ".join(f"{point.name}: {point.cut_off:.0%}, {point.wait_ms:.0f}" for point in points)
        cut_off, wait_ms = cut_off_at(points, EOT_WAIT_MS), wait_at(points, EOT_CUT_OFF)
        row = (
            name,
            shown,
            "" if cut_off is None else f"{cut_off:.0%}",
            "" if wait_ms is None else f"{wait_ms:.0f} ms",
        )
        rows.append(row)
    print_table(heads, rows, right=2)


def _as_json(results: Results) -> dict[str, Any]:
    return {
        "kinds": {kind: found.as_json() for kind, found in by_kind(results.ours).items()},
        "recordings": [_outcome_as_json(outcome) for outcome in results.ours],
        "peer": {kind: found.as_json() for kind, found in by_kind(results.peer).items()},
        "alike offline": alike(results.ours, results.offline),
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
