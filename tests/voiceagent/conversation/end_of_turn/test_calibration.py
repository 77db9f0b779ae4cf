"""Calibration of the probabilities, on typed turns of the demo's callers: whole, and cut."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest

from voiceagent.bench.material import Material
from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.probability import judge

MATERIAL = Path(__file__).parents[4] / "voiceagent" / "demo" / "material"


@pytest.fixture(name="judged", scope="module")
def whole_and_cut_turns() -> list[tuple[float, bool]]:
    """The probability of each of some hundred turns, and whether it was whole."""
    random, judged = Random(1), []
    questions = [text for one in Material(MATERIAL).conversations() for text in one.questions]
    for text in islice((text for text in questions if len(text.split()) > 3), 300):
        words = text.rstrip(".?!").capitalize().split()
        cut = " ".join(words[: random.randrange(2, len(words))])
        for heard, over in ((" ".join(words) + "?", True), (cut + ".", False)):
            judged.append((judge(TurnEvidence(heard), language_of("en")).probability, over))
    return judged


def part_over(judged: list[tuple[float, bool]], low: float, high: float) -> float:
    """Return the share of ended turns among those with a probability in this range."""
    within = [over for probability, over in judged if low <= probability < high]
    assert len(within) >= 20
    return sum(within) / len(within)


def test_what_is_probably_over_is_over(judged) -> None:
    assert part_over(judged, 0.7, 1.0) >= 0.7


def test_what_is_probably_open_goes_on(judged) -> None:
    assert part_over(judged, 0.0, 0.3) <= 0.3


def test_the_likelier_the_more_of_them_are_over(judged) -> None:
    parts = [part_over(judged, low, high) for low, high in ((0.0, 0.3), (0.3, 0.6), (0.6, 0.8), (0.8, 1.0))]
    assert parts == sorted(parts)
