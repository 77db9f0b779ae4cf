"""What is known of a turn in a pause, and what each witness makes of it. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from voiceagent.conversation.end_of_turn.dictation import (
    dictation,
    group_pause_s,
    is_said_at_once,
    spelled,
    wholeness,
)
from voiceagent.conversation.end_of_turn.language import (
    OpenWords,
    TurnEndLanguage,
    asking_features,
    ending_features,
)
from voiceagent.conversation.words import last_sentence, sentences_of

BRIEF_WORDS = 2
"""Up to this many words that neither ask nor answer may be a beginning or an "okay"."""
ANSWERS = 0.4
"""What `asks` must reach for words to count as asking or answering."""
SENTENCES = 6
"""How many of the newest sentences are searched for what the turn asks for."""
ANSWERED = 0.67
"""What `asks` is at least after a question of the agent's, for words with which a sentence can end: 3,871
answers of the Schema-Guided Dialogue dataset, whole and cut, are over as often as if they asked this much,
whatever they seem to ask.
"""
ASKS_PERHAPS = 0.5
"""What `asks` is in a language whose requests nobody collected."""
SURE = 0.7
"""With this confidence or more, the recognizer's doubt says nothing."""
WAVERS = 0.125
"""How open a turn is whose comma the recognizer has taken back: 16 % of 82 orders went on then, 3 % of 219
behind other marks, 56 % of 64 behind a comma that stayed.
"""
LONG_WORDS = (20, 30)
"""From the first number of words on a caller may be telling something, and with the second he most likely is:
the longest of 310 orders has 20 words.
"""
AT_LENGTH = 2.2
"""How open a turn is with the second number of words: it waits for 0.8 s of silence at the least, as pauses
in talk go on for 0.5 s in the mean.
"""
HARDLY_UNDERSTOOD = 0.3
"""With this much doubt, a confidence of 0.49, a turn of more than a word or two is as open as one at length:
its words cannot be trusted to ask or to be whole. 16 % of 342 pauses in talk are heard so badly, and 0.3 % of
323 ends of orders and questions.
"""
SOUNDS_EVEN = 1.0
"""The log odds of a sound that tells nothing, between the means of 127 pauses of people that went on, 0.0,
and of 353 ends, 2.4."""
_INITIALS = re.compile(r"\b(?:[A-Za-z]\.){2,}")
_LEAST_PROBABILITY = 0.02
"""A sound's word on the end is never surer than this, either way: its log odds stay within 3.9 of even."""


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What is known of a turn in a pause.

    text: its words as recognized. agent: the agent's latest words before it, "" for none. pauses: how often
    the caller has gone on after a pause in this turn. confidence: of the words, by the recognizer; None where
    it does not tell. probability: that the turn is complete by its sound, as the turn model or the recognizer
    has it; None where neither tells. dictation: how many digits a number may have that the agent has asked to
    be dictated, empty for a name or the like; None where nothing is, as far as the agent's code says. llm:
    what the LLM's word on these very words adds, in nats (`llm_end.py`); None where it has said none. before:
    what the recognizer made of the turn before it came to the text. longest_pause_s: of those pauses, 0 where
    there were none.
    """

    text: str
    agent: str = ""
    pauses: int = 0
    confidence: float | None = None
    probability: float | None = None
    dictation: tuple[int, ...] | None = None
    llm: float | None = None
    before: str = ""
    longest_pause_s: float = 0.0


Observed = dict[str, float]
"""What each witness saw, by its name, in units of its own; one that saw nothing is left out."""


def observe(evidence: TurnEvidence, language: TurnEndLanguage | None) -> Observed:
    """What the witnesses make of the evidence. language: None for one of which nothing is known."""
    observed = _by_punctuation(evidence.text)
    # "p.m." is the word "pm", and ends no sentence
    text = _INITIALS.sub(lambda initials: initials[0].replace(".", ""), evidence.text)
    sentences = sentences_of(text)
    if sentences and language is not None:
        observed |= _by_words(sentences, evidence, language)
    if sum(map(len, sentences)) <= BRIEF_WORDS and observed.get("asks", 0.0) < ANSWERS:
        observed["brief"] = 1.0
    # who dictates pauses between groups; a whole number needs no more of them
    if evidence.pauses and "whole number" not in observed:
        observed["pauses"] = math.log1p(evidence.pauses)
    if evidence.confidence is not None and evidence.confidence < SURE:
        observed["doubt"] = (SURE - evidence.confidence) / SURE
    # how the digits of a number are said tells nothing
    if evidence.probability is not None and observed.keys().isdisjoint(("whole number", "open number")):
        observed["sound"] = _by_sound(evidence.probability, observed)
    return observed


def spelling_pause_s(evidence: TurnEvidence, language: TurnEndLanguage | None) -> float | None:
    """Seconds of silence that end what the agent has asked the caller to spell; None where it has not.

    Behind letters, more of them would come sooner. Behind anything else, such as the name itself, the letters
    are still to come: that is infinite.
    """
    letters = spelled(evidence.text, evidence.agent, language)
    if letters is None:
        return None
    return group_pause_s(evidence.longest_pause_s) if letters else math.inf


def least_pause_s(
    evidence: TurnEvidence, lengths: tuple[int, ...], language: TurnEndLanguage | None
) -> float:
    """The least seconds of silence behind a number that may be whole and whose length nobody knows: another
    group of it would follow sooner; 0 behind anything else. lengths: as `dictation` has them.
    """
    if lengths or language is None:
        return 0.0
    number = wholeness(sentences_of(evidence.text), lengths, evidence.pauses, language)
    return group_pause_s(evidence.longest_pause_s) if number == "grouped" else 0.0


def openness(evidence: TurnEvidence, observed: Observed) -> float:
    """How open a turn is, whatever it asks: 0 where `Silences.certain_s` may end it, 1 where `even_s` is the
    least silence that may, 2 for as much more again; 0 behind numbers.
    """
    if "tells" not in observed:
        return 0.0
    words, (least, most) = len(evidence.text.split()), LONG_WORDS
    doubt = observed.get("doubt", 0.0) if words > BRIEF_WORDS else 0.0
    talks = _within(max((words - least) / (most - least), doubt / HARDLY_UNDERSTOOD), 0, 1)
    return max(_open_mark(evidence, observed), AT_LENGTH * talks)


def _open_mark(evidence: TurnEvidence, observed: Observed) -> float:
    if "comma" in observed:
        return 1.0
    return WAVERS if "comma" in _by_punctuation(evidence.before) else 0.0


def _by_sound(probability: float, observed: Observed) -> float:
    """What it tells that the turn sounds complete with this probability. Where the caller tells something,
    less: his sentences sound complete too, and he goes on.
    """
    certain = min(max(probability, _LEAST_PROBABILITY), 1 - _LEAST_PROBABILITY)
    # by a quarter, as the other witnesses: all see between about -1 and 1
    heard = (math.log(certain / (1 - certain)) - SOUNDS_EVEN) / 4
    return heard * min(observed["asks"] / ANSWERED, 1.0) if heard > 0 and "tells" in observed else heard


def _by_words(
    sentences: list[tuple[str, ...]], evidence: TurnEvidence, language: TurnEndLanguage
) -> Observed:
    last, agent = sentences[-1], evidence.agent
    open_words = language.open_words
    asked = agent.rstrip().endswith("?") and open_words.offers.isdisjoint(last_sentence(agent))
    # nothing else counts then: "five five five" is no sentence, whole or open
    lengths = dictation(agent, evidence.dictation, language)
    number = wholeness(sentences, lengths, evidence.pauses, language)
    if number is not None:
        if lengths is not None or not is_said_at_once(evidence.text, asked, language):
            return {f"{number} number": 1.0} if number in ("whole", "open") else {}
        if asked:  # who typed what the words were learned from answered with names
            return {"asks": ANSWERED}
    ends = language.ends.logit(ending_features(last))
    observed = {"ends": _within(ends, -3, 2) / 4, "unfinished": _within(-ends - 3, 0, 2) / 2}
    observed["asks"] = ASKS_PERHAPS
    if language.asks is not None:
        logit = max(language.asks.logit(asking_features(words, asked)) for words in sentences[-SENTENCES:])
        observed["asks"], observed["tells"] = _within(logit, 0, 4) / 4, _within(-logit, 0, 4) / 4
    if asked or evidence.text.rstrip()[-1:] in open_words.question_marks:
        whole = 1 - observed["unfinished"]
        observed["asks"] = max(observed["asks"], whole * ANSWERED)
        observed["tells"] = (1 - whole) * observed.get("tells", 0.0)
    if _is_open_condition(last, open_words):
        observed["open condition"] = 1.0
    return observed


def _is_open_condition(words: tuple[str, ...], open_words: OpenWords) -> bool:
    """Whether a sentence begins with a condition, and nothing has followed from it yet."""
    asks = not open_words.inversions.isdisjoint(words[1:2])
    # the last word is no main clause yet, and may be the condition's verb: "falls das Zimmer frei ist"
    follows = not open_words.main_clauses.isdisjoint(words[2:-1])
    return words[0] in open_words.conditions and not asks and not follows


def _by_punctuation(text: str) -> Observed:
    """What the last character says where the recognizer punctuates, which capitals give away."""
    text = text.rstrip("\"'”’ ")
    if text.endswith("?"):
        return {"question": 1.0}
    if text.endswith((".", "!")) and not text.endswith(".."):
        return {"full stop": 1.0}
    # a recognizer that writes no capitals writes no full stops: its absence says nothing
    if text == text.lower():
        return {}
    return {"no stop": 1.0} if text[-1].isalnum() else {"comma": 1.0}


def _within(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)
