"""How probable it is that a turn is over, and the silence that is waited for. Pure.

The witnesses are weighed by logistic regression; what each weighs was learned (`python -m
voiceagent.conversation.end_of_turn.train`), and stands in `witnesses.toml`. `CARD.md` says from what, and how
well the probabilities are kept to.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from voiceagent.conversation.end_of_turn.evidence import Observed, TurnEvidence, observe
from voiceagent.conversation.end_of_turn.language import TurnEndLanguage
from voiceagent.conversation.settings import Eagerness

WITNESSES = Path(__file__).parent / "witnesses.toml"
WEIGHTS: Mapping[str, float] = tomllib.loads(WITNESSES.read_text("utf-8"))
"""What each witness weighs, in nats a unit of what it sees; "bias" where none sees anything."""


@dataclass(frozen=True, slots=True)
class Silences:
    """Seconds of silence that end a turn: where it is certainly over, where it probably is, and where it is
    not.
    """

    certain_s: float
    probable_s: float
    open_s: float


SILENCES: dict[Eagerness, Silences] = {
    "low": Silences(0.3, 0.6, 1.5),
    "auto": Silences(0.16, 0.32, 1.5),
    "medium": Silences(0.16, 0.32, 1.5),
    "high": Silences(0.08, 0.16, 0.8),
}
"""What the eagerness of the Realtime API's `semantic_vad` means here."""
CERTAIN, PROBABLE, OPEN = 0.85, 0.5, 0.25
"""Probabilities at which these are waited for; in between, each step shortens the silence by the same factor.
"""


@dataclass(frozen=True, slots=True)
class EndOfTurn:
    """One decision, and what it was made of.

    probability: that the turn is over. silence_s: what ends it. witnesses: what each added to the logarithm
    of the odds, in nats.
    """

    probability: float
    silence_s: float
    witnesses: tuple[tuple[str, float], ...]


def judge(
    evidence: TurnEvidence, language: TurnEndLanguage | None, eagerness: Eagerness = "auto"
) -> EndOfTurn:
    """How probable it is that the turn is over, and how long a silence is waited for."""
    witnesses = weighed(observe(evidence, language))
    probability = 1 / (1 + math.exp(-sum(nats for _, nats in witnesses)))
    return EndOfTurn(probability, silence_s(probability, SILENCES[eagerness]), witnesses)


def weighed(observed: Observed) -> tuple[tuple[str, float], ...]:
    """What each witness adds to the logarithm of the odds, and the bias."""
    return ("bias", WEIGHTS["bias"]), *((name, WEIGHTS[name] * seen) for name, seen in observed.items())


def silence_s(probability: float, silences: Silences) -> float:
    """Seconds of silence that end a turn which is over with this probability: never more for a higher one."""
    if probability >= PROBABLE:
        longer_s, shorter_s = silences.probable_s, silences.certain_s
        part = (probability - PROBABLE) / (CERTAIN - PROBABLE)
    else:
        longer_s, shorter_s = silences.open_s, silences.probable_s
        part = (probability - OPEN) / (PROBABLE - OPEN)
    return float(longer_s * (shorter_s / longer_s) ** min(max(part, 0.0), 1.0))
