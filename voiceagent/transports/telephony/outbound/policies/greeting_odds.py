"""Odds that a greeting is a machine's, and of which kind, by its words, their sounds, pairs of these, known
phrases, and length.

Logistic regressions: the log-odds are a bias plus the weights of the features that the greeting has.
`tests/bench/greeting_odds.py` has learned the weights from English greetings, as written and as the demo's
recognizer hears them by telephone. Words count by their sounds, so that "leave a massage" and "taxed me"
count as "leave a message" and "text me".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from voiceagent.session.agent import AnsweredBy
from voiceagent.transports.telephony.outbound.policies import greeting_weights as tables
from voiceagent.transports.telephony.outbound.policies.greeting_phrases import (
    kind_by_phrases,
    phrases_in,
    plain_text,
)

_LENGTHS = (3, 5, 7, 9, 11, 13, 16)
_SENTENCES = (2, 3)
MIN_USUAL = 0.25
"""Share of usual words, below which a greeting is of another language."""
MIN_AGAINST_VOICEMAIL = 0.5
"""Log-odds of a menu or a screener against a voicemail, below which a machine is a voicemail, as most are."""
_WORD = re.compile(r"[a-z']+|\d")
_SENTENCE_END = re.compile(r"[.?!](?: |$)")
_FIGURES = {
    letter: figure
    for figure, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), start=1)
    for letter in letters
}
_MAX_FIGURES = 4
_BEGIN, _END = "<", ">"
_USUAL = frozenset(tables.USUAL_WORDS.split())
"""Words of many greetings, by which English is known."""


def _weights(table: str) -> dict[str, float]:
    """Return the weight of each feature. In the table each weight, a number with a point, is followed by the
    features that have it.
    """
    weights, weight = {}, 0.0
    for one in table.split():
        if "." in one:
            weight = float(one)
        else:
            weights[one] = weight
    return weights


_MACHINE = _weights(tables.MACHINE)
_MENU, _SCREENER = _weights(tables.MENU), _weights(tables.SCREENER)


def sound_of(word: str) -> str:
    """Return the Soundex code of a word (Russell, US patent 1261167), of up to four figures and not filled
    with zeros; "#" for a digit.
    """
    letters = word.replace("'", "")
    if not letters or letters.isdigit():
        return "#"
    code, before = letters[0], _FIGURES.get(letters[0])
    for letter in letters[1:]:
        figure = _FIGURES.get(letter)
        if figure is not None and figure != before:
            code += str(figure)
        if letter not in "hw":
            before = figure
    return code[: _MAX_FIGURES + 1]


def features(greeting: str) -> set[str]:
    """Return the features of a greeting: each word, as `=hello`; each sound; pairs of sounds, with its
    beginning and end; pairs with a sound between them, as `h4__t`; `len3`: three words or more; `sentences2`:
    two sentences or more; `ends?`: the last one is a question; `phrase:menu`: a phrase of menus.
    """
    words = words_of(greeting)
    sounds = [sound_of(word) for word in words]
    pairs = (f"{one}_{other}" for one, other in pairwise((_BEGIN, *sounds, _END)))
    apart = (f"{one}__{other}" for one, other in zip(sounds, sounds[2:], strict=False))
    text = greeting.strip()
    sentences = len(_SENTENCE_END.findall(text))
    form = [f"len{count}" for count in _LENGTHS if len(sounds) >= count]
    form += [f"sentences{count}" for count in _SENTENCES if sentences >= count]
    form += [*(["ends?"] if text.endswith("?") else []), *(f"phrase:{one}" for one in phrases_in(greeting))]
    return {*(f"={word}" for word in words), *sounds, *pairs, *apart, *form}


def words_of(greeting: str) -> list[str]:
    """Return the words and digits of a greeting, in lower case."""
    return _WORD.findall(greeting.lower().replace("\u2019", "'"))


def log_odds(greeting: str) -> float:
    """Return the log-odds that a greeting is a machine's, in nats; 0 for one in another language."""
    return tables.MACHINE_BIAS + _sum(_MACHINE, greeting) if _is_english(greeting) else 0.0


def kind_of_machine(greeting: str) -> AnsweredBy:
    """Return the kind of machine whose greeting this is: in another language by its phrases, as "press 2", or
    a voicemail.
    """
    if not _is_english(greeting):
        return kind_by_phrases(plain_text(greeting)) or "voicemail"
    menu = tables.MENU_BIAS + _sum(_MENU, greeting)
    screener = tables.SCREENER_BIAS + _sum(_SCREENER, greeting)
    if max(menu, screener) < MIN_AGAINST_VOICEMAIL:
        return "voicemail"
    return "menu" if menu >= screener else "screener"


def _is_english(greeting: str) -> bool:
    words = words_of(greeting)
    return sum(word in _USUAL for word in words) >= max(1, MIN_USUAL * len(words))


def _sum(weights: Mapping[str, float], greeting: str) -> float:
    return sum(weights.get(one, 0.0) for one in features(greeting))
