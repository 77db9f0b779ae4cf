"""How long a silence ends the turn: what words, their punctuation and the turn model say of it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from voiceagent.conversation.settings import Eagerness
from voiceagent.conversation.words import normalise

Completeness = Literal["complete", "unsure", "unfinished"]

COMPLETE_PROBABILITY = 0.7
"""From here on the turn model is taken to say that the turn is complete."""
UNFINISHED_PROBABILITY = 0.3
"""Up to here it is taken to say that more will come."""


@dataclass(frozen=True, slots=True)
class TurnEndWords:
    """Words of one language at the end of an utterance that tell whether more will come.

    unfinished: nobody ends with these (articles, conjunctions, fillers). unsure: people rarely end with
    these.
    digits: said one by one they are a number that may go on.
    conditions: an utterance that begins with one of these is only half said until one of `main_clauses`
    comes.
    greetings: an utterance of these alone is often followed by what the caller wants.
    statements: an utterance that begins with one of these often leads up to a question ("I'm coming by
    car."), unless one of `wishes` is in it.
    """

    unfinished: frozenset[str]
    unsure: frozenset[str]
    digits: frozenset[str]
    conditions: frozenset[str]
    main_clauses: frozenset[str]
    greetings: frozenset[str]
    statements: frozenset[str]
    wishes: frozenset[str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORDS_AT_THE_END = {
    "en": TurnEndWords(
        unfinished=_words(
            "a an the and or but because if my your his our their um uh er erm hmm than whether "
            "i'm we're i've i'd i'll we'd let's very so"
        ),
        unsure=_words(
            "with for to of in on at from by about like is are was were be do does did can could would "
            "will should have has that which who what when where how i we you they not"
        ),
        digits=_words("zero oh one two three four five six seven eight nine"),
        conditions=_words("if because although unless"),
        main_clauses=_words(
            "can could do does did is are will would should may what where when how who which please then "
            "i'll i'd we'll we'd it's that's there's"
        ),
        greetings=_words("hello hi hey good morning afternoon evening day there again"),
        statements=_words("i i'm i've we we're we've my our"),
        wishes=_words(
            "want need like love wish hope thank thanks think know understand see can could please"
        ),
    )
}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
DIGITS_IN_A_ROW = 3
"""So many digits one after the other are taken to be dictated."""
WHOLE_NUMBERS = (7, 10, 11)
"""Lengths at which a dictated telephone number may be whole."""


@dataclass(frozen=True, slots=True)
class Silences:
    """Seconds of silence that end a turn, by how complete it is."""

    complete_s: float
    unsure_s: float
    unfinished_s: float

    def __getitem__(self, completeness: Completeness) -> float:
        """The silence for one degree."""
        return {
            "complete": self.complete_s,
            "unsure": self.unsure_s,
            "unfinished": self.unfinished_s,
        }[completeness]


SILENCES: dict[Eagerness, Silences] = {
    "low": Silences(0.4, 1.0, 1.5),
    "auto": Silences(0.2, 0.32, 1.2),
    "medium": Silences(0.2, 0.32, 1.2),
    "high": Silences(0.2, 0.3, 0.8),
}
"""What the eagerness of the Realtime API's `semantic_vad` means here.

0.32 s are enough where it is unsure: a caller who goes on later has the reply taken back.
"""


def completeness(text: str, probability: float | None, table: TurnEndWords | None) -> Completeness:
    """How complete a turn is.

    text: as recognized. probability: the turn model's, None where there is none or it has not answered. A
    word that nobody ends with outweighs the model; the model alone decides nothing that the words deny.
    """
    last_sentence = _SENTENCE_END.split(text.strip())[-1]
    by_words = _by_words(normalise(last_sentence), table) if table is not None else "complete"
    by_words = _by_punctuation(text, by_words)
    if by_words == "unfinished" or probability is None:
        return by_words
    if probability <= UNFINISHED_PROBABILITY:
        return "unfinished" if by_words == "unsure" else "unsure"
    if probability < COMPLETE_PROBABILITY:
        return "unsure"
    return by_words


def _by_punctuation(text: str, by_words: Completeness) -> Completeness:
    """What the last character says where the recognizer punctuates, which capitals give away.

    Whisper and Moonshine write a comma, or nothing, where the voice has not come to an end, and a question
    mark only where it asks.
    """
    text = text.rstrip("\"'”’ ")
    if text == text.lower() or (text.endswith((".", "!", "?")) and not text.endswith(("..", "…"))):
        asks = text.endswith("?") and by_words == "unsure"
        return "complete" if asks else by_words
    if text[-1].isalnum():
        return "unsure" if by_words == "complete" else "unfinished"
    return "unfinished"


def _by_words(words: tuple[str, ...], table: TurnEndWords) -> Completeness:
    if not words:
        return "unsure"
    if words[-1] in table.unfinished:
        return "unfinished"
    digits = 0
    for word in reversed(words):
        if word not in table.digits:
            break
        digits += 1
    if digits >= DIGITS_IN_A_ROW:
        return "complete" if digits in WHOLE_NUMBERS else "unfinished"
    if words[0] in table.conditions and table.main_clauses.isdisjoint(words[2:]):
        return "unfinished"
    if words[-1] in table.unsure or table.greetings.issuperset(words):
        return "unsure"
    leads_up = words[0] in table.statements and table.wishes.isdisjoint(words)
    return "unsure" if leads_up else "complete"
