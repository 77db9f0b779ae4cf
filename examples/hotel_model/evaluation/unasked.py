"""Share of held-out sentences without a request for which the model calls no tool, and declines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console

from examples.hotel_model.data.everyday import Unasked
from examples.hotel_model.data.exchanges import DECLINES
from examples.hotel_model.evaluation.answering import Answer
from examples.hotel_model.evaluation.calls import calls_in
from voiceagent.bench.scoring import says
from voiceagent.demo.world import system_prompt

NOTHING_CALLED_TARGET = 0.97  # of the sentences that ask for nothing
DECLINED_TARGET = 0.90  # the same


@dataclass(frozen=True)
class JudgedUnasked:
    """A sentence, the model's answer, whether it calls a tool, and whether it declines."""

    item: Unasked
    answer: str
    called: bool
    declined: bool


def evaluate_unasked(answer: Answer, sentences: Iterable[Unasked]) -> tuple[JudgedUnasked, ...]:
    """Say every sentence to `answer`, which offers the agent's tools."""
    system = {"role": "system", "content": system_prompt()}
    judged = []
    for item in sentences:
        written = answer([system, *item.messages])
        said, called = calls_in(written)
        declined = bool(said) and not called and says(said, "|".join(DECLINES))
        judged.append(JudgedUnasked(item, written, bool(called), declined))
    return tuple(judged)


def report_unasked(judged: Sequence[JudgedUnasked], console: Console) -> bool:
    """Print the sentences not declined and both shares; return whether they reach their targets."""
    for item in judged:
        if not item.declined:
            said = " / ".join(turn["content"] for turn in item.item.messages)
            console.print(f"[red]unasked[/red] {said}", highlight=False)
            console.print(f"    {item.answer.strip()}", highlight=False, markup=False)
    quiet = sum(not item.called for item in judged) / len(judged)
    declined = sum(item.declined for item in judged) / len(judged)
    console.print(
        f"nothing called that nobody asked for: {quiet:.1%} of {len(judged)}, "
        f"target {NOTHING_CALLED_TARGET:.0%}"
    )
    console.print(f"  of these, declined: {declined:.1%}, target {DECLINED_TARGET:.0%}")
    return quiet >= NOTHING_CALLED_TARGET and declined >= DECLINED_TARGET
