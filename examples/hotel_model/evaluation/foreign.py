"""Answers of the model under other agents' instructions: `foreign.toml` has twenty, with questions."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rich.console import Console

from examples.hotel_model.data.exchanges import DECLINES
from examples.hotel_model.evaluation.answering import Answer
from examples.hotel_model.evaluation.calls import calls_in
from voiceagent.bench.scoring import says, spoken
from voiceagent.conversation.repetition import RepetitionGuard

MAX_WORDS = 60  # of a reply
HELD_TARGET = 0.85  # of the questions answered or declined as they should be


@dataclass(frozen=True)
class Foreign:
    """A question under another agent's instructions. fact: required in the answer; "" if it must be declined,
    None if any short answer will do.
    """

    instructions: str
    tools: tuple[str, ...]
    question: str
    fact: str | None


@dataclass(frozen=True)
class JudgedForeign:
    """An answer to it. bounded: it is short, does not repeat itself, and calls nothing. right: it
    has the fact, or declines.
    """

    asked: Foreign
    answer: str
    bounded: bool
    right: bool


@cache
def foreign_questions() -> tuple[Foreign, ...]:
    """Return all questions: six or seven under each of the instructions."""
    return tuple(_questions())


def evaluate_foreign(
    answering: Callable[[Sequence[str]], Answer], asked: Iterable[Foreign]
) -> tuple[JudgedForeign, ...]:
    """Ask the questions. answering: returns an Answer for the names of offered tools."""
    judged = []
    for one in asked:
        messages = [
            {"role": "system", "content": one.instructions},
            {"role": "user", "content": one.question},
        ]
        written = answering(one.tools)(messages)
        said, called = calls_in(written)
        bounded = (
            len(spoken(said).split()) <= MAX_WORDS and not RepetitionGuard().push(f"{said} ") and not called
        )
        judged.append(JudgedForeign(one, written, bounded, bool(said) and _is_right(said, one.fact)))
    return tuple(judged)


def report_foreign(judged: Sequence[JudgedForeign], console: Console) -> int:
    """Print the wrong answers, and both shares; return the exit status."""
    for item in judged:
        if not (item.bounded and item.right):
            console.print(
                f"{item.asked.instructions[:50]!r}: {item.asked.question}", highlight=False, markup=False
            )
            console.print(f"    {item.answer.strip()}", highlight=False, markup=False)
    bounded, right = (sum(getattr(item, name) for item in judged) for name in ("bounded", "right"))
    instructions = len({item.asked.instructions for item in judged})
    console.print(
        f"at most {MAX_WORDS} words, nothing repeated, nothing called: {bounded} of {len(judged)} replies"
        f" under {instructions} instructions"
    )
    console.print(f"answered or declined: {right / len(judged):.1%}, target {HELD_TARGET:.0%}")
    return 0 if bounded == len(judged) and right >= HELD_TARGET * len(judged) else 1


def _is_right(said: str, fact: str | None) -> bool:
    if fact is None:
        return True
    return says(said, fact or "|".join(DECLINES))


def _questions() -> Iterator[Foreign]:
    table = tomllib.loads((files(__package__) / "foreign.toml").read_text(encoding="utf-8"))
    hotel, greetings = table["hotel"], table["greetings"]
    for number, each in enumerate(table["instructions"]):
        instructions, tools = each["text"], tuple(each.get("tools", ()))
        for question in (*each["questions"], *table["anywhere"]):
            yield Foreign(instructions, tools, question, "")
        for question, fact in (hotel[number % len(hotel)], hotel[(number + 1) % len(hotel)]):
            yield Foreign(instructions, tools, question, fact)
        yield Foreign(instructions, tools, greetings[number % len(greetings)], None)
