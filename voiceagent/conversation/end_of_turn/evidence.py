"""Evidence about a turn in a pause, and the features computed from it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from voiceagent.conversation.end_of_turn.dictation import (
    dictation,
    group_pause_s,
    is_said_at_once,
    number_completeness,
    spelled,
)
from voiceagent.conversation.end_of_turn.language import (
    OpenWords,
    TurnEndLanguage,
    asking_features,
    ending_features,
)
from voiceagent.conversation.words import last_sentence, sentences_of

BRIEF_WORDS = 2
"""Maximum words that, if they neither ask nor answer, may be a beginning or an "okay"."""
MIN_ASKS = 0.4
"""Minimum `asks` of a question or answer."""
SENTENCES = 6
"""Number of the newest sentences that are searched for a request."""
MIN_ASKS_AFTER_QUESTION = 0.67
"""Minimum `asks` after a question of the agent, for words with which a sentence can end: 3,871 answers of the
Schema-Guided Dialogue dataset, complete and cut, are over as often as if `asks` were this high, whatever the
model says.
"""
UNKNOWN_ASKS = 0.5
"""`asks` in a language without a model of requests."""
SURE = 0.7
"""Confidence of the recognizer from which it is no feature."""
WITHDRAWN_COMMA_OPENNESS = 0.125
"""Openness of a turn whose comma the recognizer withdrew: 16 % of 82 orders continued then, 3 % of 219 after
other marks, 56 % of 64 after a comma that stayed.
"""
LONG_WORDS = (20, 30)
"""Words from which a caller may be telling something, and with which they most likely are: the longest of 310
orders has 20 words.
"""
LONG_TURN_OPENNESS = 2.2
"""Openness of a turn with the second number of words: it waits for at least 0.8 s of silence, as pauses in
narration go on for 0.5 s in the mean.
"""
LONG_TURN_DOUBT = 0.3
"""Doubt, at a confidence of 0.49, from which a turn of more than a word or two is as open as a long one: its
transcript cannot be trusted to ask or to be complete. 16 % of 342 pauses in narration have as much, and 0.3 %
of 323 ends of orders and questions.
"""
STORY_WORDS = (16, 24)
"""Words from which a turn that tells and does not ask may be a story, and with which it is one. Shorter
statements are often whole orders.
"""
STORY_OPENNESS = 2.9
"""Openness of a story: 1.0 s of silence."""
NEUTRAL_AUDIO_LOG_ODDS = 1.0
"""Log-odds of the audio that carry no information, between the means of 127 pauses of people that went on,
0.0, and of 353 ends, 2.4.
"""
_INITIALS = re.compile(r"\b(?:[A-Za-z]\.){2,}")
_MIN_PROBABILITY = 0.02
"""Bound on the audio's probability, either way: its log-odds stay within 3.9 of even."""


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """Evidence about a turn in a pause.

    text: its transcript. agent: the agent's latest text before it, "" for none. pauses: pauses in this turn
    after which the caller continued. confidence: of the transcript; None if the recognizer does not report
    it. probability: that the turn is complete by its audio, from the turn model or the recognizer; None from
    neither. dictation: possible digits of a number that the agent asked for, empty for a name or the like;
    None without dictation, as far as the agent's code says. llm: contribution of the LLM's score of this
    text, in nats (`llm_end.py`); None if unknown. before: the recognizer's previous hypothesis.
    longest_pause_s: of those pauses, 0 for none. resumed: the caller continued after a false end.
    acknowledges: an acknowledgement of what the agent said may not be all; False in logs of builds that took
    it for a whole turn.
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
    resumed: bool = False
    acknowledges: bool = False


Observed = dict[str, float]
"""Value of each feature, by name, in its own unit; absent ones are left out."""


def observe(evidence: TurnEvidence, language: TurnEndLanguage | None) -> Observed:
    """Return the features of the evidence. language: None if it has no model."""
    observed = _by_punctuation(evidence.text)
    # "p.m." is the word "pm", and ends no sentence
    text = _INITIALS.sub(lambda initials: initials[0].replace(".", ""), evidence.text)
    sentences = sentences_of(text)
    if sentences and language is not None:
        observed |= _by_words(sentences, evidence, language)
    if sum(map(len, sentences)) <= BRIEF_WORDS and observed.get("asks", 0.0) < MIN_ASKS:
        observed["brief"] = 1.0
    # dictation has pauses between groups; a complete number does not need more of them
    if evidence.pauses and "whole number" not in observed:
        observed["pauses"] = math.log1p(evidence.pauses)
    if evidence.confidence is not None and evidence.confidence < SURE:
        observed["doubt"] = (SURE - evidence.confidence) / SURE
    # intonation of digits carries no information
    if evidence.probability is not None and observed.keys().isdisjoint(("whole number", "open number")):
        observed["sound"] = _by_sound(evidence.probability, observed)
    return observed


def spelling_pause_s(evidence: TurnEvidence, language: TurnEndLanguage | None) -> float | None:
    """Return the seconds of silence that end requested spelling; None if the agent requested none.

    After letters, more of them would come sooner. After anything else, such as the name itself, the letters
    are still to come: that is infinite.
    """
    letters = spelled(evidence.text, evidence.agent, language)
    if letters is None:
        return None
    return group_pause_s(evidence.longest_pause_s) if letters else math.inf


def min_pause_s(evidence: TurnEvidence, lengths: tuple[int, ...], language: TurnEndLanguage | None) -> float:
    """Return the minimum seconds of silence after a number of unknown length that may be complete: another
    group would come sooner. 0 after anything else. lengths: see `dictation`.
    """
    if lengths or language is None:
        return 0.0
    number = number_completeness(sentences_of(evidence.text), lengths, evidence.pauses, language)
    return group_pause_s(evidence.longest_pause_s) if number == "grouped" else 0.0


def openness(evidence: TurnEvidence, observed: Observed) -> float:
    """Return the openness of a turn: 0 if `Silences.certain_s` may end it, 1 if `even_s` is the minimum
    silence, 2 for as much more again; 0 after numbers.
    """
    if "tells" not in observed:
        return 0.0
    words = len(evidence.text.split())
    doubt = observed.get("doubt", 0.0) if words > BRIEF_WORDS else 0.0
    talks = max(_share(words, LONG_WORDS), min(doubt / LONG_TURN_DOUBT, 1))
    opened = max(_open_mark(evidence, observed), LONG_TURN_OPENNESS * talks)
    return opened + (STORY_OPENNESS - opened) * _tells_story(evidence, observed, words)


def _tells_story(evidence: TurnEvidence, observed: Observed, words: int) -> float:
    """Return how far a turn is a story, whose sentences end at pauses too: 0 to 1."""
    # a caller who was answered too early pauses again, in short statements too
    is_long = 1.0 if evidence.resumed else _share(words, STORY_WORDS)
    return is_long * (1 - min(observed["asks"] / MIN_ASKS, 1.0))


def _open_mark(evidence: TurnEvidence, observed: Observed) -> float:
    if "comma" in observed:
        return 1.0
    return WITHDRAWN_COMMA_OPENNESS if "comma" in _by_punctuation(evidence.before) else 0.0


def _by_sound(probability: float, observed: Observed) -> float:
    """Return a quarter of the log-odds of this completeness probability of the audio, less the neutral ones.

    A positive one is smaller in narration, where sentences sound complete too.
    """
    certain = min(max(probability, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    # divided by four like the other features, which lie between about -1 and 1
    heard = (math.log(certain / (1 - certain)) - NEUTRAL_AUDIO_LOG_ODDS) / 4
    return (
        heard * min(observed["asks"] / MIN_ASKS_AFTER_QUESTION, 1.0)
        if heard > 0 and "tells" in observed
        else heard
    )


def _by_words(
    sentences: list[tuple[str, ...]], evidence: TurnEvidence, language: TurnEndLanguage
) -> Observed:
    last, agent = sentences[-1], evidence.agent
    open_words = language.open_words
    asked = agent.rstrip().endswith("?") and open_words.offers.isdisjoint(last_sentence(agent))
    # no other feature then: "five five five" is no sentence, complete or not
    lengths = dictation(agent, evidence.dictation, language)
    number = number_completeness(sentences, lengths, evidence.pauses, language)
    if number is not None:
        if lengths is not None or not is_said_at_once(evidence.text, asked, language):
            return {f"{number} number": 1.0} if number in ("whole", "open") else {}
        if asked:  # the training texts are typed, where such questions are answered with names
            return {"asks": MIN_ASKS_AFTER_QUESTION}
    ends = language.ends.logit(ending_features(last))
    observed = {"ends": _clamp(ends, -3, 2) / 4, "unfinished": _clamp(-ends - 3, 0, 2) / 2}
    observed["asks"] = UNKNOWN_ASKS
    if language.asks is not None:
        logit = max(language.asks.logit(asking_features(words, asked)) for words in sentences[-SENTENCES:])
        observed["asks"], observed["tells"] = _clamp(logit, 0, 4) / 4, _clamp(-logit, 0, 4) / 4
    if asked or evidence.text.rstrip()[-1:] in open_words.question_marks:
        whole = 1 - observed["unfinished"]
        observed["asks"] = max(observed["asks"], whole * MIN_ASKS_AFTER_QUESTION)
        observed["tells"] = (1 - whole) * observed.get("tells", 0.0)
    if _is_open_condition(last, open_words):
        observed["open condition"] = 1.0
    return observed


def _is_open_condition(words: tuple[str, ...], open_words: OpenWords) -> bool:
    """Return True if a sentence begins with a condition that has no main clause yet."""
    asks = not open_words.inversions.isdisjoint(words[1:2])
    # not the last word, which may be the condition's verb: "falls das Zimmer frei ist"
    follows = not open_words.main_clauses.isdisjoint(words[2:-1])
    return words[0] in open_words.conditions and not asks and not follows


def _by_punctuation(text: str) -> Observed:
    """Return the feature of the last character, if the recognizer punctuates, which capitals show."""
    text = text.rstrip("\"'”’ ")
    if text.endswith("?"):
        return {"question": 1.0}
    if text.endswith((".", "!")) and not text.endswith(".."):
        return {"full stop": 1.0}
    # without capitals there are no full stops either: their absence says nothing
    if text == text.lower():
        return {}
    return {"no stop": 1.0} if text[-1].isalnum() else {"comma": 1.0}


def _share(value: float, bounds: tuple[float, float]) -> float:
    """Return the position of a value between two bounds, 0 to 1."""
    least, most = bounds
    return _clamp((value - least) / (most - least), 0, 1)


def _clamp(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)
