"""`voiceagent eval --calls FOLDER`: kept calls under other settings, judged, before a deploy."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.console import Console
from rich.progress import track

from llmcore.engine import Llm, LlmError
from voiceagent.calls.log.outline import OutlinedTurn, totals
from voiceagent.cli.fork import Futures, fork_log, shared_services
from voiceagent.cli.replay import find_log, logs_in
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.evals.exact_tests import sign_test
from voiceagent.evals.folder import SETTINGS
from voiceagent.evals.judge import ask
from voiceagent.evals.record import CallRecord, Said, ToolUse
from voiceagent.evals.scenario import EvalFile
from voiceagent.evals.sound_call import arguments_of
from voiceagent.scores.statistics import Indices, Interval, bootstrap
from voiceagent.telemetry.terminal_table import print_table
from voiceagent.validation.errors import CommandFailed


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of all calls, as it was and as it would have been.

    calls: those with a value in both. interval: of the difference, over calls; None for fewer than two. p: of
    the sign test.
    """

    name: str
    calls: int
    before: float
    after: float
    interval: Interval | None
    p: float


def compare_calls(
    config: Config, changed: Config, calls: Path, settings: EvalFile, folder: Path, recorded: bool
) -> None:
    """Fork each call of a folder at its first difference, and print what differs, with its interval.

    settings: of the `folder` of scenarios, with the judge and its questions. recorded: without engines.
    Raises CommandFailed, ConfigError.
    """
    logs = list(logs_in(calls))
    if not logs:
        raise CommandFailed(f"{calls}: no log of a call is there")
    futures, left_out = [], 0
    with ExitStack() as closing:
        services = None if recorded else closing.enter_context(shared_services(changed))
        for path in track(logs, "calls forked", console=Console(stderr=True), transient=True):
            try:
                found = fork_log(config, changed, find_log(config, str(path)), str(path), 1, services)
            except CommandFailed as error:
                left_out += 1
                Console(stderr=True).print(f"left out: {error}", markup=False, highlight=False)
                continue
            if found is not None:
                futures.append(found)
    if not futures and left_out:
        raise CommandFailed(
            f"{calls}: {left_out} of {len(logs)} calls were left out, and no other is changed"
        )
    if not futures:
        raise CommandFailed(f"{calls}: what is set changes none of the {len(logs)} calls")
    try:
        shares = asyncio.run(judged(futures, settings, folder, config.agent.language))
    except LlmError as error:
        raise CommandFailed(f"the judge did not start: {error}") from error
    _print(differences(futures, shares), len(logs), len(futures), left_out)


def differences(
    futures: Sequence[Futures], judged: Sequence[tuple[float | None, float | None]] = ()
) -> list[Difference]:
    """Return the figures of calls. judged: the share of questions answered with yes, by call, in both."""
    figures: dict[str, Callable[[Sequence[OutlinedTurn]], float | None]] = {
        "turns": lambda turns: float(len(turns)),
        "turns cut off": lambda turns: float(totals(turns).cut_off),
        "mean wait, s": lambda turns: totals(turns).mean_wait_s,
        "unanswered turns": lambda turns: float(sum(not turn.answered for turn in turns)),
    }
    found = [
        _difference(name, [(figure(one.before), figure(one.after)) for one in futures])
        for name, figure in figures.items()
    ]
    only = [(_missing(one.before, one.after), _missing(one.after, one.before)) for one in futures]
    found.append(_difference("tool calls that the other lacks", only))
    found.append(_difference("questions answered yes", judged))
    return [one for one in found if one is not None]


def _missing(turns: Sequence[OutlinedTurn], other: Sequence[OutlinedTurn]) -> float:
    """Return the number of tool calls of a future that the other one does not make, with these arguments."""
    return float((_tool_calls(turns) - _tool_calls(other)).total())


def _tool_calls(turns: Sequence[OutlinedTurn]) -> Counter[tuple[str, str]]:
    return Counter((tool.name, tool.arguments) for turn in turns for tool in turn.tools)


def _difference(name: str, values: Sequence[tuple[float | None, float | None]]) -> Difference | None:
    pairs = [(one, other) for one, other in values if one is not None and other is not None]
    if not pairs:
        return None
    changes = np.array([other - one for one, other in pairs])

    def mean(indices: Indices) -> float:
        return float(changes[indices].mean())

    p = sign_test(int((changes > 0).sum()), int((changes < 0).sum()))
    before, after = fmean(one for one, _ in pairs), fmean(other for _, other in pairs)
    return Difference(name, len(pairs), before, after, bootstrap(len(pairs), mean), p)


async def judged(
    futures: Sequence[Futures], settings: EvalFile, folder: Path, language: str
) -> list[tuple[float | None, float | None]]:
    """Return the share of questions that a judge answers with yes, in both futures of each call."""
    if settings.judge is None or not settings.questions:
        return []
    judge: Llm = build_engine("llm", settings.judge, folder / SETTINGS, "judge")
    await judge.start()
    shares = []
    try:
        for one in track(futures, "calls judged", console=Console(stderr=True), transient=True):
            before, after = _record(one.before, language), _record(one.after, language)
            share = await _share(judge, settings.questions, before)
            same = after == before  # so is the verdict, and a large judge is not asked twice
            shares.append((share, share if same else await _share(judge, settings.questions, after)))
    finally:
        await judge.close()
    return shares


def _record(turns: Sequence[OutlinedTurn], language: str) -> CallRecord:
    """Return what a judge reads of a future."""
    said = [one for turn in turns for one in (Said("caller", turn.said), Said("agent", turn.answered))]
    tools = [
        ToolUse(tool.name, arguments_of(tool.arguments), tool.output) for turn in turns for tool in turn.tools
    ]
    return CallRecord(tuple(said), tuple(tools), language=language)


async def _share(judge: Llm, questions: Sequence[str], call: CallRecord) -> float | None:
    answers = [(await ask(judge, question, call)).answer for question in questions]
    valid = [answer == "yes" for answer in answers if answer is not None]
    return fmean(valid) if valid else None


def _print(found: Sequence[Difference], calls: int, changed: int, left_out: int) -> None:
    rows = [
        (
            one.name,
            str(one.calls),
            f"{one.before:.2f}",
            f"{one.after:.2f}",
            f"{one.after - one.before:+.2f}",
            "" if one.interval is None else f"{one.interval.low:+.2f} to {one.interval.high:+.2f}",
            f"{one.p:.2g}",
        )
        for one in found
    ]
    heads = ("mean of a call", "calls", "as it was", "would have been", "difference", "95 % interval", "p")
    print_table(heads, rows, right=1)
    text = f"{changed} of {calls} calls were forked, {left_out} left out. Interval: bootstrap; p: sign test."
    Console().print(text, markup=False, highlight=False)
