"""Score the demo model on the held-out questions: `python -m examples.hotel_model.evaluate`.

Prints a table an intent and exits with 1 where the model misses its targets.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table

from examples.hotel_model.data.everyday import unasked
from examples.hotel_model.data.labelled import Labelled, labelled_set
from examples.hotel_model.data.labelled_calls import labelled_calls, labelled_with_tools
from examples.hotel_model.evaluation import by_voice
from examples.hotel_model.evaluation.answering import Answer, ctranslate2_answer, transformers_answer
from examples.hotel_model.evaluation.calls import evaluate_calls, report_calls, with_calls_as_words
from examples.hotel_model.evaluation.foreign import evaluate_foreign, foreign_questions, report_foreign
from examples.hotel_model.evaluation.unasked import evaluate_unasked, report_unasked
from voiceagent.bench.scoring import Verdict, spoken
from voiceagent.demo import WEIGHTS
from voiceagent.demo.front_desk import TOOLS
from voiceagent.demo.world import system_prompt

FACTS_TARGET = 0.95  # of the questions about the hotel answered with the right facts
DECLINED_TARGET = 0.90  # of the questions outside the world declined
_T = TypeVar("_T")


@dataclass(frozen=True)
class Judged:
    """A question, its answer, and the verdict."""

    labelled: Labelled
    answer: str
    verdict: Verdict


def evaluate(answer: Answer, questions: Iterable[Labelled]) -> tuple[Judged, ...]:
    """Ask `answer` every question and judge its answers."""
    system = system_prompt()
    judged = []
    for labelled in questions:
        said = answer(labelled.messages(system))
        judged.append(Judged(labelled, said, labelled.judge(said)))
    return tuple(judged)


def share_right(judged: Sequence[Judged]) -> float:
    """Return the share of correct answers, 1.0 without any."""
    return sum(item.verdict.right for item in judged) / len(judged) if judged else 1.0


def agreement(judged: Sequence[Judged], answers: Sequence[str]) -> float:
    """Return the share of answers with the same words as `answers`, in the same order.

    Raises ValueError if their numbers differ.
    """
    pairs = zip(judged, answers, strict=True)
    return sum(spoken(item.answer) == spoken(other) for item, other in pairs) / len(judged)


def meets_targets(judged: Sequence[Judged]) -> bool:
    """Return True if both shares reach their targets."""
    inside, outside = _parts(judged)
    return share_right(inside) >= FACTS_TARGET and share_right(outside) >= DECLINED_TARGET


def report(judged: Sequence[Judged], console: Console) -> None:
    """Print a table of intents, the wrong answers and the two shares."""
    by_intent: dict[str, list[Judged]] = defaultdict(list)
    for item in judged:
        by_intent[item.labelled.intent].append(item)
    table = Table("intent", "questions", "right", title="held-out questions by intent")
    for intent, items in sorted(by_intent.items()):
        right = sum(item.verdict.right for item in items)
        style = "" if right == len(items) else "yellow"
        table.add_row(intent, str(len(items)), str(right), style=style)
    console.print(table)
    for item in judged:
        if not item.verdict.right:
            _print_wrong(item, console)
    inside, outside = _parts(judged)
    follow_ups = [item for item in inside if item.labelled.follows_up]
    for name, part, target in (
        ("right facts", inside, FACTS_TARGET),
        ("  of these, follow-ups", follow_ups, None),
        ("outside the world, declined", outside, DECLINED_TARGET),
    ):
        wanted = f", target {target:.0%}" if target else ""
        console.print(f"{name}: {share_right(part):.1%} of {len(part)}{wanted}")


def _report_by_voice(asked: Sequence[by_voice.Asked], console: Console) -> int:
    """Print a table of voices, the wrong answers and both shares; return the exit status."""
    table = Table("voice", "questions", "right", "word errors", title="held-out questions by voice")
    for voice in by_voice.VOICES:
        items = [item for item in asked if item.voice == voice]
        if items:
            right = sum(item.verdict.right for item in items) / len(items)
            errors = by_voice.word_error_rate(items)
            table.add_row(voice.name, str(len(items)), f"{right:.1%}", f"{errors:.1%}")
    for item in asked:
        if not item.verdict.right:
            console.print(f"[red]{item.labelled.intent}[/red] {item.labelled.words}", highlight=False)
            console.print(f"    understood: {item.understood}", highlight=False, markup=False)
            console.print(f"    answered: {item.answer}", highlight=False, markup=False)
    console.print(table)
    right = sum(item.verdict.right for item in asked) / len(asked)
    errors = by_voice.word_error_rate(asked)
    console.print(f"right by voice: {right:.1%} of {len(asked)}, target {by_voice.RIGHT_TARGET:.0%}")
    console.print(f"word errors: {errors:.1%}, target at most {by_voice.WORD_ERRORS_TARGET:.0%}")
    return 0 if right >= by_voice.RIGHT_TARGET and errors <= by_voice.WORD_ERRORS_TARGET else 1


def _report_requests(requested: Sequence[by_voice.Requested], console: Console) -> int:
    """Print a table of voices, the wrong calls and the share of correct ones; return the exit status."""
    table = Table("voice", "requests", "right", title="held-out requests by voice")
    for voice in by_voice.VOICES:
        items = [item for item in requested if item.voice == voice]
        if items:
            table.add_row(
                voice.name, str(len(items)), f"{sum(item.right for item in items) / len(items):.1%}"
            )
    for item in requested:
        if not item.right:
            console.print(f"[red]{item.labelled.tool}[/red] {item.labelled.words}", highlight=False)
            console.print(f"    understood: {item.understood}", highlight=False, markup=False)
            called = ", ".join(f"{call.name}({dict(call.arguments)})" for call in item.called) or "nothing"
            console.print(f"    called: {called}", highlight=False, markup=False)
    console.print(table)
    right = sum(item.right for item in requested) / len(requested)
    console.print(
        f"right calls by voice: {right:.1%} of {len(requested)}, target {by_voice.RIGHT_TARGET:.0%}"
    )
    return 0 if right >= by_voice.RIGHT_TARGET else 1


def _sampled(questions: Sequence[_T], number: int | None) -> Sequence[_T]:
    """Return `number` questions, evenly spaced; all for None."""
    return questions[:: max(1, len(questions) // number)][:number] if number else questions


def _followed(items: Iterable[_T], doing: str, number: int) -> list[_T]:
    """Return the items, showing a progress bar."""
    return list(track(items, doing, total=number, console=Console(stderr=True)))


def _parts(judged: Sequence[Judged]) -> tuple[list[Judged], list[Judged]]:
    inside = [item for item in judged if not item.labelled.outside]
    return inside, [item for item in judged if item.labelled.outside]


def _print_wrong(item: Judged, console: Console) -> None:
    before = " / ".join(content for _, content in item.labelled.history)
    asked = f"({before}) " if before else ""
    console.print(f"[red]{item.labelled.intent}[/red] {asked}{item.labelled.question}", highlight=False)
    console.print(f"    {item.answer}", highlight=False, markup=False)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options = _parser().parse_args(arguments)
    console = Console()
    if (options.spoken or options.transcribed) and (missing := by_voice.missing_programs()):
        console.print(f"not installed: {', '.join(missing)}; on Debian: apt-get install {' '.join(missing)}")
        return 2
    labelled = labelled_with_tools() if options.tools else labelled_set()
    questions = _sampled(labelled[:: 2 if options.spoken else 1], options.sample)
    if options.spoken:
        return _evaluate_by_voice(questions, options, console)
    answering = _answering(options.engine, options.model)
    if options.foreign:
        asked = _sampled(foreign_questions(), options.sample)
        return report_foreign(evaluate_foreign(answering, _followed(asked, "asking", len(asked))), console)
    answer = answering(TOOLS if options.tools else ())
    calls_right = True
    if options.tools:
        requests = _sampled(labelled_calls(), options.sample)
        judged_calls = evaluate_calls(answer, _followed(requests, "requesting", len(requests)))
        calls_right = report_calls(judged_calls, console)
        sentences = _sampled(unasked(), options.sample)
        judged_unasked = evaluate_unasked(answer, _followed(sentences, "talking", len(sentences)))
        calls_right = report_unasked(judged_unasked, console) and calls_right
        answer = with_calls_as_words(answer)
    if options.transcribed:
        asking = by_voice.ask_transcribed(questions, answer, options.config)
        return _report_by_voice(_followed(asking, "listening", len(questions)), console)

    judged = evaluate(answer, _followed(questions, "asking", len(questions)))
    report(judged, console)
    if options.save:
        options.save.write_text(json.dumps([item.answer for item in judged], indent=1))
    if options.against:
        share = agreement(judged, json.loads(options.against.read_text()))
        console.print(f"same answers as {options.against}: {share:.1%}")
    return 0 if meets_targets(judged) and calls_right else 1


def _evaluate_by_voice(questions: Sequence[Labelled], options: argparse.Namespace, console: Console) -> int:
    """Evaluate questions, and with tools also requests, in real calls; return the exit status."""
    missed, talk = 0, by_voice.talking_to(options.config)
    if options.tools:
        requests = _sampled(labelled_calls()[::2], options.sample)
        requesting = by_voice.request_by_voice(requests, talk)
        missed = _report_requests(_followed(requesting, "requesting", len(requests)), console)
    asking = by_voice.ask_by_voice(questions, talk)
    return _report_by_voice(_followed(asking, "calling", len(questions)), console) or missed


def _answering(engine: str, model: Path | None) -> Callable[[Sequence[str]], Answer]:
    """Return a function that returns the model's Answer for the names of offered tools."""
    if engine == "ctranslate2":
        return lambda tools: ctranslate2_answer(model or WEIGHTS / "ct2", tools)
    return lambda tools: transformers_answer(model or WEIGHTS / "target", tools)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.hotel_model.evaluate", description=__doc__)
    parser.add_argument("--engine", choices=("ctranslate2", "transformers"), default="ctranslate2")
    parser.add_argument("--model", type=Path, help="its folder (default: the shipped one)")
    parser.add_argument("--save", type=Path, help="write the answers to this JSON file")
    parser.add_argument("--against", type=Path, help="compare with answers saved from the other engine")
    parser.add_argument(
        "--tools",
        action="store_true",
        help="offer the agent's tools, and put requests as well, and what asks for nothing",
    )
    parser.add_argument(
        "--foreign", action="store_true", help="ask under twenty instructions that are not the hotel's"
    )
    voiced = parser.add_mutually_exclusive_group()
    voiced.add_argument(
        "--spoken",
        action="store_true",
        help="ask every other question by voice, in a real call; with --tools make every other request too",
    )
    voiced.add_argument(
        "--transcribed",
        action="store_true",
        help="ask all of them in their transcripts, without a call",
    )
    parser.add_argument(
        "--config",
        type=Path,
        default=Path("configs/demo.toml"),
        help="the agent that is called, or whose recognizer listens",
    )
    parser.add_argument("--sample", type=int, help="ask so many of them, evenly spread")
    return parser


if __name__ == "__main__":
    sys.exit(main())
