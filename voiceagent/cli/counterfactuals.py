"""`voiceagent eval --calls FOLDER`: kept calls under other settings, judged, before a deploy."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.console import Console
from rich.progress import track

from llmcore.engine import Llm, LlmError
from voiceagent.calls.replaying.outline import OutlinedTurn, totals
from voiceagent.cli.fork import Futures, fork_log, shared_services
from voiceagent.cli.replay import find_log, logs_in
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.evals.command import sigterm_as_interrupt
from voiceagent.evals.exact_tests import sign_test
from voiceagent.evals.folder import SETTINGS
from voiceagent.evals.judge import ask
from voiceagent.evals.record import CallRecord, Said, ToolUse
from voiceagent.evals.scenario import EvalFile
from voiceagent.scores.statistics import Indices, Interval, bootstrap
from voiceagent.telemetry.terminal_table import print_table
from voiceagent.testing.call import arguments_of
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


@dataclass(slots=True)
class _Comparison:
    """Calls compared so far. read: logs read. left_out: logs that cannot be forked. shares: of `judged`."""

    read: int = 0
    left_out: int = 0
    futures: list[Futures] = field(default_factory=list)
    shares: list[tuple[float | None, float | None]] = field(default_factory=list)


def compare_calls(
    config: Config, changed: Config, calls: Path, settings: EvalFile, folder: Path, recorded: bool
) -> None:
    """Fork each call of a folder at its first difference, and print what differs, with its interval.

    settings: of the `folder` of scenarios, with the judge and its questions. recorded: without engines.
    Raises CommandFailed, ConfigError. KeyboardInterrupt with the number of calls so far, whose differences
    are printed, as they are if the judge fails.
    """
    logs = list(logs_in(calls))
    if not logs:
        raise CommandFailed(f"{calls}: no log of a call is there")
    done = _Comparison()
    try:
        with sigterm_as_interrupt():
            _fork_all(config, changed, logs, recorded, done)
            _check_forked(calls, logs, done)
            asyncio.run(_judge_all(done, settings, folder, config.agent.language))
    except KeyboardInterrupt:
        if done.futures:
            _print(done, len(logs))
        judged_too = f", {len(done.shares)} of them judged" if done.shares else ""
        raise KeyboardInterrupt(f"interrupted after {done.read} of {len(logs)} calls{judged_too}") from None
    except LlmError as error:
        _print(done, len(logs))
        raise CommandFailed(f"the judge did not start: {error}") from error
    _print(done, len(logs))


def _fork_all(
    config: Config, changed: Config, logs: Sequence[Path], recorded: bool, done: _Comparison
) -> None:
    """Add the futures of all calls to `done`. Raises ConfigError."""
    with ExitStack() as closing:
        services = None if recorded else closing.enter_context(shared_services(changed))
        for path in track(logs, "calls forked", console=Console(stderr=True), transient=True):
            try:
                found = fork_log(config, changed, find_log(config, str(path)), str(path), 1, services)
            except CommandFailed as error:
                done.left_out += 1
                Console(stderr=True).print(f"left out: {error}", markup=False, highlight=False)
            else:
                if found is not None:
                    done.futures.append(found)
            done.read += 1


def _check_forked(calls: Path, logs: Sequence[Path], done: _Comparison) -> None:
    if done.futures:
        return
    if done.left_out:
        raise CommandFailed(
            f"{calls}: {done.left_out} of {len(logs)} calls were left out, and no other is changed"
        )
    raise CommandFailed(f"{calls}: what is set changes none of the {len(logs)} calls")


async def _judge_all(done: _Comparison, settings: EvalFile, folder: Path, language: str) -> None:
    async with aclosing(judged(done.futures, settings, folder, language)) as shares:
        async for share in shares:
            done.shares.append(share)


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
) -> AsyncGenerator[tuple[float | None, float | None], None]:
    """Yield the share of questions that a judge answers with yes, in both futures of each call."""
    if settings.judge is None or not settings.questions:
        return
    judge: Llm = build_engine("llm", settings.judge, folder / SETTINGS, "judge")
    await judge.start()
    try:
        for one in track(futures, "calls judged", console=Console(stderr=True), transient=True):
            before, after = _record(one.before, language), _record(one.after, language)
            share = await _share(judge, settings.questions, before)
            same = after == before  # so is the verdict, and a large judge is not asked twice
            yield share, share if same else await _share(judge, settings.questions, after)
    finally:
        await judge.close()


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


def _print(done: _Comparison, calls: int) -> None:
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
        for one in differences(done.futures, done.shares)
    ]
    heads = ("mean of a call", "calls", "as it was", "would have been", "difference", "95 % interval", "p")
    print_table(heads, rows, right=1)
    text = f"{len(done.futures)} of {calls} calls were forked, {done.left_out} left out"
    text += ". Interval: bootstrap; p: sign test."
    Console().print(text, markup=False, highlight=False)
