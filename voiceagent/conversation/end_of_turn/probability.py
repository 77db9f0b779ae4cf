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
from typing import Any

from voiceagent.conversation.end_of_turn.dictation import dictation
from voiceagent.conversation.end_of_turn.evidence import (
    ANSWERED,
    Observed,
    TurnEvidence,
    least_pause_s,
    observe,
    openness,
    spelling_pause_s,
)
from voiceagent.conversation.end_of_turn.language import TurnEndLanguage
from voiceagent.conversation.end_of_turn.moment import asks_for_moment
from voiceagent.conversation.settings import Eagerness
from voiceagent.conversation.words import sentences_of

WITNESSES = Path(__file__).parent / "witnesses.toml"
WEIGHTS: Mapping[str, float] = tomllib.loads(WITNESSES.read_text("utf-8"))
"""What each witness weighs, in nats per unit of what it sees; "bias" counts where none sees anything."""


@dataclass(frozen=True, slots=True)
class Silences:
    """Seconds of silence that end a turn: where it is certainly over, where it is as likely to be over as
    not, and where it surely goes on.
    """

    certain_s: float
    even_s: float
    open_s: float


SILENCES: dict[Eagerness, Silences] = {
    "low": Silences(0.3, 0.8, 1.5),
    "auto": Silences(0.16, 0.45, 1.5),
    "medium": Silences(0.16, 0.45, 1.5),
    "high": Silences(0.08, 0.2, 0.8),
}
"""What the eagerness of the Realtime API's `semantic_vad` means here (chosen and measured in `CARD.md`)."""
DICTATED = Silences(0.3, 0.8, 1.8)
"""Where something is dictated, whatever the eagerness: groups of a number have pauses of 1.5 s between them,
and cutting one costs more than waiting.
"""
MOMENT_S = 6.0
"""How long a caller who asks for a moment is waited for, whatever the eagerness; then the agent answers him.
Pipecat's turn completion waits for 10 s, but the sound of a pause is kept for 8 here.
"""
GOES_ON_S = 0.5
"""How much longer a pause within a turn goes on in the mean, however long it has been, from 0.16 to 1.2 s:
the lengths of pauses fall off exponentially (52 pauses of people, of those to tune on).
"""
ASKING_GOES_ON_S = 0.2
"""`GOES_ON_S` for pauses in what asks or answers, where nothing is left open: 0.07 to 0.28 s in 68 of them.
"""


@dataclass(frozen=True, slots=True)
class EndOfTurn:
    """One decision, and what it was made of.

    probability: that the turn is over. silence_s: the silence that ends it. witnesses: what each added to the
    logarithm of the odds, in nats.
    """

    probability: float
    silence_s: float
    witnesses: tuple[tuple[str, float], ...]

    def as_json(self) -> dict[str, Any]:
        """The decision as clients are told it."""
        return {
            "probability": self.probability,
            "silence_ms": self.silence_s * 1000,
            "witnesses": dict(self.witnesses),
        }


def judge(
    evidence: TurnEvidence, language: TurnEndLanguage | None, eagerness: Eagerness = "auto"
) -> EndOfTurn:
    """How probable it is that the turn is over, and how long a silence is waited for."""
    observed = observe(evidence, language)
    witnesses = weighed(observed)
    if evidence.llm is not None:  # what it weighs is its model's, and not learned with the others
        witnesses += (("llm", evidence.llm),)
    probability = 1 / (1 + math.exp(-sum(nats for _, nats in witnesses)))
    if asks_for_moment(sentences_of(evidence.text), language):
        return EndOfTurn(probability, MOMENT_S, witnesses)
    lengths = dictation(evidence.agent, evidence.dictation, language)
    if lengths is not None:
        silence = spelling_pause_s(evidence, language)
        if silence is None:
            silence = max(silence_s(probability, DICTATED), least_pause_s(evidence, lengths, language))
        return EndOfTurn(probability, min(silence, DICTATED.open_s), witnesses)
    asks, opened = asking(observed), openness(evidence, observed)
    return EndOfTurn(probability, silence_s(probability, SILENCES[eagerness], asks, opened), witnesses)


def weighed(observed: Observed) -> tuple[tuple[str, float], ...]:
    """What each witness adds to the logarithm of the odds, and the bias."""
    return ("bias", WEIGHTS["bias"]), *((name, WEIGHTS[name] * seen) for name, seen in observed.items())


def asking(observed: Observed) -> float:
    """How much the caller asks or answers, in words that may be whole: 0 to 1, 0 where that is not known."""
    if "tells" not in observed:  # a number, or words of a language whose requests nobody collected
        return 0.0
    return min(observed["asks"] / ANSWERED, 1.0) * (1 - observed["unfinished"])


def silence_s(probability: float, silences: Silences, asks: float = 0.0, opened: float = 0.0) -> float:
    """Seconds of silence that end a turn which is over with this probability P. asks: as `asking` has it.
    opened: as `openness` has it.

    Where the turn is over, waiting for t costs t. Where it is not, ending it costs C if the pause is still
    going on after t, which it is with probability exp(-t / T), T being how much longer pauses go on in the
    mean. The t for which P t + (1 - P) C exp(-t / T) is least falls on a line in the log odds of P, by T a
    nat.
    """
    # pauses behind a comma are short: more silence tells them from an end better than any weight does
    certain_s = silences.certain_s + (silences.even_s - silences.certain_s) * opened
    if not 0.0 < probability < 1.0:
        return certain_s if probability > 0.5 else silences.open_s
    log_odds = math.log(probability / (1 - probability))
    # behind words that seem whole, who asks may think of more for as long as others
    goes_on_s = GOES_ON_S if log_odds > 0.0 else GOES_ON_S + (ASKING_GOES_ON_S - GOES_ON_S) * asks
    return min(max(silences.even_s - goes_on_s * log_odds, certain_s), silences.open_s)
