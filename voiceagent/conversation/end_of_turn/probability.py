"""The probability that a turn is over, and the endpointing delay.

Features are combined by logistic regression; their weights are learned (`python -m
examples.end_of_turn.train`) and stored in `witnesses.toml`. `CARD.md` documents data and
calibration.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from voiceagent.conversation.end_of_turn.acknowledgement import acknowledged
from voiceagent.conversation.end_of_turn.dictation import dictation
from voiceagent.conversation.end_of_turn.evidence import (
    MIN_ASKS_AFTER_QUESTION,
    Observed,
    TurnEvidence,
    min_pause_s,
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
"""Weight of each feature, in nats per unit; "bias" is the log-odds without features."""


@dataclass(frozen=True, slots=True)
class Silences:
    """Seconds of silence that end a turn: one that is certainly over, one as likely over as not, and one that
    certainly continues.
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
"""Silences for each eagerness of the Realtime API's `semantic_vad` (chosen and measured in `CARD.md`)."""
DICTATED = Silences(0.3, 0.8, 1.8)
"""Silences during dictation, whatever the eagerness: groups of a number have pauses of 1.5 s between them,
and cutting one costs more than waiting.
"""
MOMENT_S = 6.0
"""Endpointing delay after the caller asked for a moment, whatever the eagerness. Pipecat's turn completion
waits for 10 s, but pauses are buffered for 8 s here.
"""
REMAINING_PAUSE_S = 0.5
"""Mean remaining length of a pause within a turn, however long it has been, from 0.16 to 1.2 s: the lengths
of pauses fall off exponentially (52 pauses of people, of the tuning set).
"""
ACTING_S = REMAINING_PAUSE_S * math.log(2)
"""Silence added before the end of a doubtful turn whose answer runs a tool with effects: actions on half a
sentence cannot be taken back as words can, so cutting it counts as twice as bad (see `silence_s`).
"""
MIN_ACTING_S = 0.35
"""Least silence before a tool with effects runs, however certainly the turn is over. The words before a
correction ("at six, no, at seven") are a whole request: a synthetic caller pauses for 0.21 to 0.24 s after
them, and a voice is noticed 0.08 s after it begins.
"""
ACKNOWLEDGED_OPENNESS = 2.2
"""Openness of a turn that only takes note of a statement, as of a long turn: 0.8 s of silence.
Callers go on 0.2 to 0.8 s after such words ("Perfect. And when is breakfast?"), and need no answer to them.
"""
ASKING_REMAINING_PAUSE_S = 0.2
"""`REMAINING_PAUSE_S` of questions and answers with nothing left open: 0.07 to 0.28 s in 68 pauses."""


EndpointingRule = Literal["", "probability", "dictation", "spelling", "moment", "acknowledgement"]
"""The rule that set an endpointing delay: the probability of the end, the pauses of dictation or spelling, or
that the caller asked for a moment, or acknowledged a question and has not answered it.
"""


@dataclass(frozen=True, slots=True)
class EndOfTurn:
    """A decision on the end of a turn, and its parts.

    probability: that the turn is over. silence_s: endpointing delay. witnesses: contribution of each feature
    to the log-odds, in nats. rule: the rule that set the delay, "" in old logs.
    """

    probability: float
    silence_s: float
    witnesses: tuple[tuple[str, float], ...]
    rule: EndpointingRule = ""

    def as_json(self) -> dict[str, Any]:
        """Return the decision as sent to clients."""
        return {
            "probability": self.probability,
            "silence_ms": self.silence_s * 1000,
            "witnesses": dict(self.witnesses),
        }


def judge(
    evidence: TurnEvidence,
    language: TurnEndLanguage | None,
    eagerness: Eagerness = "auto",
    acting_s: float = 0.0,
    min_s: float = 0.0,
) -> EndOfTurn:
    """Return the probability that the turn is over, and the endpointing delay.

    acting_s, min_s: silence added unless the turn is certainly over, and least silence: `ACTING_S` and
    `MIN_ACTING_S` if its answer runs a tool with effects.
    """
    observed = observe(evidence, language)
    witnesses = contributions(observed)
    if evidence.llm is not None:  # its weight is part of its calibration, not learned with the others
        witnesses += (("llm", evidence.llm),)
    probability = 1 / (1 + math.exp(-sum(nats for _, nats in witnesses)))
    if asks_for_moment(sentences_of(evidence.text), language):
        return EndOfTurn(probability, MOMENT_S, witnesses, "moment")
    noted = acknowledged(evidence.text, evidence.agent, language) if evidence.acknowledges else None
    if noted == "question":
        return EndOfTurn(probability, SILENCES[eagerness].open_s, witnesses, "acknowledgement")
    lengths = dictation(evidence.agent, evidence.dictation, language)
    if lengths is not None:
        silence = spelling_pause_s(evidence, language)
        rule: EndpointingRule = "dictation" if silence is None else "spelling"
        if silence is None:
            silence = max(silence_s(probability, DICTATED), min_pause_s(evidence, lengths, language))
        return EndOfTurn(probability, min(silence, DICTATED.open_s), witnesses, rule)
    asks, opened = asking(observed), openness(evidence, observed)
    if noted == "statement":
        opened = max(opened, ACKNOWLEDGED_OPENNESS)
    silences = SILENCES[eagerness]
    certain_s = max(silences.certain_s, min_s)
    silences = replace(silences, certain_s=certain_s, even_s=silences.even_s + acting_s)
    delay_s = silence_s(probability, silences, asks, opened)
    return EndOfTurn(probability, delay_s, witnesses, "probability")


def contributions(observed: Observed) -> tuple[tuple[str, float], ...]:
    """Return the contribution of each feature to the log-odds, and the bias."""
    return ("bias", WEIGHTS["bias"]), *((name, WEIGHTS[name] * seen) for name, seen in observed.items())


def asking(observed: Observed) -> float:
    """Return how much the caller asks or answers, in possibly complete words: 0 to 1, 0 if unknown."""
    if "tells" not in observed:  # a number, or a language without a model of requests
        return 0.0
    return min(observed["asks"] / MIN_ASKS_AFTER_QUESTION, 1.0) * (1 - observed["unfinished"])


def silence_s(probability: float, silences: Silences, asks: float = 0.0, opened: float = 0.0) -> float:
    """Return the endpointing delay, in seconds, of a turn that is over with this probability P.

    asks: see `asking`. opened: see `openness`.

    If the turn is over, waiting for t costs t. If it is not, ending it costs C if the pause is still going on
    after t, which has probability exp(-t / T), T being the mean remaining length of pauses. The t that
    minimises P t + (1 - P) C exp(-t / T) falls linearly with the log-odds of P, by T per nat.
    """
    # pauses after a comma are short: more silence separates them from ends better than any weight
    certain_s = silences.certain_s + (silences.even_s - silences.certain_s) * opened
    if not 0.0 < probability < 1.0:
        return certain_s if probability > 0.5 else silences.open_s
    log_odds = math.log(probability / (1 - probability))
    # after apparently complete words, callers who ask may continue as late as others
    remaining_s = (
        REMAINING_PAUSE_S
        if log_odds > 0.0
        else REMAINING_PAUSE_S + (ASKING_REMAINING_PAUSE_S - REMAINING_PAUSE_S) * asks
    )
    return min(max(silences.even_s - remaining_s * log_odds, certain_s), silences.open_s)
