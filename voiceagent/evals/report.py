"""Printed results of an eval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.console import Console

from voiceagent.evals.comparison import Change
from voiceagent.evals.exact_tests import ALPHA
from voiceagent.evals.judge import agreement
from voiceagent.evals.results import Results, Run
from voiceagent.scores.statistics import wilson
from voiceagent.scores.word_errors import WordErrors, word_errors
from voiceagent.telemetry.terminal_table import print_table


def print_results(results: Results) -> None:
    """Print the pass rate of each scenario, with its interval, and the first failure of each that failed."""
    heads = ("scenario", "passed", "rate", "95 % interval", "wait")
    rows = [_row(name, runs) for name, runs in results.scenarios.items()]
    rows.append(_row("all", results.runs))
    print_table(heads, rows, spare=("95 % interval",), right=1)
    for name, runs in results.scenarios.items():
        failed = next((run for run in runs if run.failures), None)
        if failed is not None:
            _say(f"{name}, run {failed.seed}: {failed.failures[0].reason}")
    _say(_cost(results))
    if agreed := _agreement(results.runs):
        _say(agreed)
    if heard := _hearing(results.runs):
        _say(heard)


def print_place(folder: Path) -> None:
    """Print where the results are, and the command that shows them."""
    _say(f"To see and hear the calls: voiceagent eval --page --results {folder}")


def _row(name: str, runs: Sequence[Run]) -> tuple[str, ...]:
    passed = sum(run.passed for run in runs)
    interval = wilson(passed, len(runs))
    waits = [wait_s for run in runs for wait_s in run.waits_s]
    return (
        name,
        f"{passed} of {len(runs)}",
        f"{passed / len(runs):.0%}",
        "" if interval is None else f"{interval.low:.0%} to {interval.high:.0%}",
        f"{median(waits):.2f} s" if waits else "",
    )


def _cost(results: Results) -> str:
    minutes = sum(run.seconds for run in results.runs) / 60
    count = "1 call" if len(results.runs) == 1 else f"{len(results.runs)} calls"
    text = f"{results.stopped_after or count} of {results.name} in {results.wall_s:.0f} s"
    if minutes:
        each_s = sum(run.processor_s for run in results.runs) / minutes
        text += (
            f": {minutes:.1f} minutes of calls, {each_s:.1f} s of processor for each, LLM and voice left out"
        )
    return f"{text}. Intervals: Wilson (1927)."


def _agreement(runs: Sequence[Run]) -> str:
    pairs = [pair for run in runs for pair in zip(run.verdicts, run.second_verdicts, strict=False)]
    verdicts = [one for run in runs for one in (*run.verdicts, *run.second_verdicts)]
    if not verdicts:
        return ""
    discarded = sum(one.answer is None for one in verdicts)
    text = f"{discarded} of {len(verdicts)} verdicts were discarded."
    if pairs:
        same, both, beyond_chance = agreement(pairs)
        kappa = "" if beyond_chance is None else f", Cohen's kappa {beyond_chance:.2f}"
        text += f" Two judges agreed on {same} of {both} questions{kappa}."
    return text


def _hearing(runs: Sequence[Run]) -> str:
    """Return how well callers with a recognizer understood the agent; "" if all read its words."""
    total = WordErrors(0, 0)
    for run in runs:
        if run.call is not None and (heard := " ".join(run.call["heard"])):
            words = " ".join(one["text"] for one in run.call["said"] if one["role"] == "agent")
            total += word_errors(words, heard)
    if not total.words:
        return ""
    return f"Callers heard the agent's words with an error rate of {total.rate:.1%} ({total.words} words)."


def print_changes(before: Results, after: Results, changes: Sequence[Change]) -> None:
    """Print what differs beyond chance, and the smallest p-value of the rest."""
    found = [change for change in changes if change.is_beyond_chance]
    _say(f"{before.name} against {after.name}: {len(changes)} tests, {len(found)} changed beyond chance.")
    if found:
        heads = ("changed", "what", "before", "after", "p", "corrected p")
        rows = [
            (
                change.scenario,
                change.measure,
                _shown(change, change.before),
                _shown(change, change.after),
                f"{change.p:.2g}",
                f"{change.corrected_p:.2g}",
            )
            for change in found
        ]
        print_table(heads, rows, right=2)
    rest = [change for change in changes if not change.is_beyond_chance]
    if rest:
        least = min(rest, key=lambda change: change.p)
        _say(
            f"Smallest p of the others: {least.p:.2g} ({least.scenario}, {least.measure}), "
            f"{least.corrected_p:.2g} corrected. Passed: Fisher's test, of all: "
            f"Cochran-Mantel-Haenszel's; wait: Wilcoxon's, of all: sign test; corrected by Holm; level "
            f"{ALPHA}."
        )


def _shown(change: Change, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0%}" if change.measure == "passed" else f"{value:.2f} s"


def _say(text: str) -> None:
    Console().print(text, markup=False, highlight=False)
