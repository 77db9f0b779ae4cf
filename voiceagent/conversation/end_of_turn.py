"""How long a silence ends the turn: what words, their punctuation and the turn model say of it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from voiceagent.conversation.settings import Eagerness
from voiceagent.conversation.words import words_of

Completeness = Literal["complete", "unsure", "preliminary", "unfinished"]
"""preliminary: whole, but it asks for nothing, and leads up to what does; or hardly understood."""

COMPLETE_PROBABILITY = 0.7
"""From here on the turn model is taken to say that the turn is complete."""
UNFINISHED_PROBABILITY = 0.3
"""Up to here it is taken to say that more will come."""
MIN_CONFIDENCE = 0.55
"""Of the recognizer. Below it the words are as likely others, and do not tell whether the turn is whole."""


@dataclass(frozen=True, slots=True)
class EndOfTurnWords:
    """Words of one language at the end of an utterance that tell whether more will come.

    unfinished: nobody ends with these (articles, conjunctions, fillers). unsure: people rarely end with
    these.
    digits: said one by one they are a number that may go on.
    conditions: an utterance that begins with one of these is only half said until one of `main_clauses`
    comes.
    greetings: an utterance of these alone leads up to what the caller wants, unless the voice falls.
    statements: so does one that begins with one of these ("I'm coming by car."), unless it answers the agent,
    or one of `wishes` is in it, what people say when they want something, or of `denials`, what they say when
    something is wrong.
    offers: a question of the agent's with one of these asks for nothing ("How can I help you?").
    """

    unfinished: frozenset[str]
    unsure: frozenset[str]
    digits: frozenset[str]
    conditions: frozenset[str]
    main_clauses: frozenset[str]
    greetings: frozenset[str]
    statements: frozenset[str]
    wishes: frozenset[str]
    denials: frozenset[str]
    offers: frozenset[str]

    def asks(self, words: tuple[str, ...]) -> bool:
        """Whether an utterance asks for something."""
        return not (self.wishes.isdisjoint(words) and self.main_clauses.isdisjoint(words))


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What is known of a turn in a pause.

    text: its words as recognized. agent: the agent's latest words before it, "" for none. probability: that
    it is complete, as the turn model has it; None where there is none or it has not answered. falls: whether
    the voice fell at its end; None where that is not known. confidence: of the words, by the recognizer; None
    where it does not tell.
    """

    text: str
    agent: str
    probability: float | None = None
    falls: bool | None = None
    confidence: float | None = None

    @property
    def has_low_confidence(self) -> bool:
        """Whether the words may well be others. What is heard as a question mostly is one."""
        doubt = self.confidence is not None and self.confidence < MIN_CONFIDENCE
        return doubt and not self.text.endswith("?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


END_OF_TURN_WORDS = {
    "en": EndOfTurnWords(
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
            "want need like love wish hope thank thanks think know understand see can could please wondering "
            "looking interested ask book reserve cancel change help lost forgot problem broken"
        ),
        denials=_words("can't don't doesn't didn't isn't aren't won't not no"),
        offers=_words("help assist anything"),
    )
}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
DIGITS_IN_A_ROW = 3
"""So many digits one after the other are taken to be dictated."""
BRIEF_WORDS = 3
"""So few words that ask for and answer nothing may be a greeting or an "okay", whatever was understood."""
WHOLE_NUMBERS = (7, 10, 11)
"""Lengths at which a dictated telephone number may be whole."""


@dataclass(frozen=True, slots=True)
class Silences:
    """Seconds of silence that end a turn, by how complete it is."""

    complete_s: float
    unsure_s: float
    preliminary_s: float
    unfinished_s: float

    def __getitem__(self, completeness: Completeness) -> float:
        """The silence for one degree."""
        return {
            "complete": self.complete_s,
            "unsure": self.unsure_s,
            "preliminary": self.preliminary_s,
            "unfinished": self.unfinished_s,
        }[completeness]


SILENCES: dict[Eagerness, Silences] = {
    "low": Silences(0.4, 1.0, 1.2, 1.5),
    "auto": Silences(0.2, 0.36, 1.0, 1.2),
    "medium": Silences(0.2, 0.36, 1.0, 1.2),
    "high": Silences(0.2, 0.3, 0.6, 0.8),
}
"""What the eagerness of the Realtime API's `semantic_vad` means here.

0.36 s are enough where it is unsure: a caller who goes on later has the response taken back. Who has only led
up to his question goes on (Schegloff, Preliminaries to Preliminaries, 1980).
"""


def completeness(evidence: TurnEvidence, table: EndOfTurnWords | None) -> Completeness:
    """How complete a turn is; `table` is None for a language whose words say nothing of it.

    A word that nobody ends with outweighs the turn model, which decides nothing that the words deny.
    """
    by_words: Completeness = "complete" if table is None else _by_last_sentence(evidence, table)
    by_words = _by_punctuation(evidence.text, by_words)
    if evidence.has_low_confidence and by_words in ("complete", "unsure"):
        by_words = "preliminary"
    probability = evidence.probability
    if by_words == "unfinished" or probability is None:
        return by_words
    if probability <= UNFINISHED_PROBABILITY:
        return "unsure" if by_words == "complete" else "unfinished"
    if probability < COMPLETE_PROBABILITY:
        return "unsure" if by_words == "complete" else by_words
    return "unsure" if by_words == "preliminary" else by_words


def _by_last_sentence(evidence: TurnEvidence, table: EndOfTurnWords) -> Completeness:
    *earlier, last = _SENTENCE_END.split(evidence.text.strip())
    words = words_of(last)
    if degree := _by_last_words(words, table):
        return degree
    if any(sentence.endswith("?") or table.asks(words_of(sentence)) for sentence in earlier):
        return "complete"
    question = _SENTENCE_END.split(evidence.agent.strip())[-1]
    asked = question.endswith("?")
    greets = table.greetings.issuperset(words)
    is_brief = len(words) <= BRIEF_WORDS and last != last.lower() and not asked and not table.asks(words)
    wanted_or_wrong = not (table.wishes.isdisjoint(words) and table.denials.isdisjoint(words))
    states = words[0] in table.statements and not wanted_or_wrong
    if not (greets or is_brief or states):
        return "complete"
    answers = states and asked and table.offers.isdisjoint(words_of(question))
    return "unsure" if answers or evidence.falls else "preliminary"


def _by_punctuation(text: str, by_words: Completeness) -> Completeness:
    """What the last character says where the recognizer punctuates, which capitals give away.

    Whisper and Moonshine write a comma, or nothing, where the voice has not come to an end, and a question
    mark only where it asks.
    """
    text = text.rstrip("\"'”’ ")
    if text == text.lower() or (text.endswith((".", "!", "?")) and not text.endswith(("..", "…"))):
        asks = text.endswith("?") and by_words in ("unsure", "preliminary")
        return "complete" if asks else by_words
    if text[-1].isalnum():
        return "unsure" if by_words == "complete" else "unfinished"
    return "unfinished"


def _by_last_words(words: tuple[str, ...], table: EndOfTurnWords) -> Completeness | None:
    """What the way it ends says of a sentence, None where that is nothing."""
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
    return "unsure" if words[-1] in table.unsure else None
