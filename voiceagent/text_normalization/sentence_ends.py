"""Full stops: those that end no sentence, and those that do without a space after them."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from voiceagent.text_normalization.languages import Language, both_cases, find_language, word_set
from voiceagent.text_normalization.ordinals import SENTENCE_OPENERS, continues_after_ordinal

Verdict = Literal["ends", "goes on", "waits", "open"]
"""Verdict on a full stop: it ends the sentence, does not end it, waits for the rest of the next word, or is
left to other rules ("open").
"""

_ENGLISH = find_language("en")
_AFTER_TIMES = frozenset(
    [
        *("Eastern", "Pacific", "Central", "Mountain", "Greenwich", "UTC", "GMT", "CET", "ET", "PT", "CT"),
        *("EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "BST"),
        *(*_ENGLISH.months, *_ENGLISH.days, *_ENGLISH.short_days, *_ENGLISH.short_months),
    ]
)
"""Capitalized words that may follow "5 p.m." in its sentence."""
_AFTER_STREETS = word_set(
    "Suite Ste Apt Apartment Unit Floor Fl Room Rm Building Bldg P.O. N S E W NE NW SE SW North South "
    "East West Station Bridge Market Church Hospital School Clinic Cafe Hotel Park Theater Theatre "
    "Mall Bakery Plaza Pier Bus Metro"
)
"""Capitalized words that may follow "Main St." in its sentence."""
_OPENERS = {
    "en": word_set(
        "I He She It We You They The A An This That These Those There Here My Your Our His Her Their What "
        "When Where Who Why How Which Is Are Was Were Do Does Did Can Could Would Will Shall Should May "
        "Have Has Please Call Come Let If So But And Or Then Thanks Thank Yes No Not Now Just Also Ask "
        "Turn Go Take See Next After Before Once For"
    ),
    "de": frozenset(word.capitalize() for word in SENTENCE_OPENERS),
    "es": word_set(
        "El La Los Las Un Una Yo Usted Ella Es Son Está Hay No Sí Si Luego Después Ahora Puede Por Para "
        "Pero Y Se Su Sus Le Les Me Nos Qué Cuándo Dónde Cómo Quién Gracias Llame Venga"
    ),
    "fr": word_set(
        "Le La Les Un Une Je Il Elle Nous Vous Ils Elles On C Ce Cette Est Puis Ensuite Mais Et Si Pour "
        "Voulez Pouvez Avez Merci Oui Non Votre Vos Notre Nos Mon Ma"
    ),
    "it": word_set(
        "Il La Lo I Gli Le Un Una Io Lei Lui Noi Voi È Sono C Poi Ora Ma E Se Per Può Vuole Grazie Sì No "
        "Suo Sua Nostro"
    ),
    "nl": word_set(
        "De Het Een Ik U Je Hij Zij Ze Wij We Er Dit Dat Is Zijn Dan Nu Maar En Als Voor Kan Kunt Wilt "
        "Bedankt Ja Nee Uw Ons"
    ),
}
"""Words that begin a sentence after an abbreviation, and hardly ever a name."""
_INITIALS = re.compile(r"(?:[A-Z]\.){2,}$")
NUMERAL = re.compile(r"[IVX]{2,5}|[VX]")
"""A Roman numeral that is no word."""
_ANSWER_NO = re.compile(
    r"(?:^|[.!?]\s+|\b(?:is|was|be|says?|said|answer|answered|yes|word|means?|just)\s+)no\.\s*$",
    re.IGNORECASE,
)
_HALF_DAY = re.compile(r"(?:^|[\s\d])[ap]\.(?:\s?m\.)?$", re.IGNORECASE)
_SHORT_STREETS = r"(?:St|Ave|Blvd|Rd|Ln|Pkwy|Hwy|Ct|Pl|Sq|Dr)\.$"
_STREET = re.compile(rf"[A-Z][\w'’]*\s+{_SHORT_STREETS}|\dth\s+(?:St|Ave)\.$")
_STREET_WITH_NUMBER = re.compile(
    r"\d\w*\s+(?:[NSEW]\.?\s+)?(?:(?:[A-Z][\w'’]*|\d{1,3}(?:st|nd|rd|th))\s+){1,3}" + _SHORT_STREETS
)
_GERMAN_NUMBER = re.compile(r"(?:^|[\s(„\"*–/-])(?:\d{1,2}|[IVX]{1,6})\.$")
_GERMAN_DATE = re.compile(r"\d{1,2}\.\s?\d{1,2}\.$")
_GERMAN_STREET = re.compile(r"str\.$")
GLUED = re.compile(
    r"(?<=[^\W\d_][a-zß-ÿ])\.(?=[A-ZÀ-Þ](?:[a-zß-ÿ]|[ '’])|[¿¡])"
    r"|(?<=OK)\.(?=[A-Z][a-z ])"
    r"|(?<=[^\W_])[!?]+(?=[^\W_]|[¿¡])"
    r"|(?<=[^\W_])[.!?]+[*_\"”»)]{1,3}(?=[A-ZÀ-Þ])"
)
"""End of a sentence with no space before the next one: "Great!Your", "booked.See"."""


def answers_no(text: str) -> bool:
    """Return True if the "no." at a text's end is the answer, not the abbreviation of "number"."""
    return _ANSWER_NO.search(text) is not None


def judge_full_stop(sentence: str, following: str, complete: bool, language: Language) -> Verdict:
    """Return a verdict on whether a text that ends in a full stop is a sentence.

    following: the next word, as far as it is known. complete: True if the word is known to its end.
    """
    last_word = sentence[-24:].rsplit(maxsplit=1)[-1].lstrip("\"'“‘«([{*_`~„")
    if last_word in _followed(language):
        return "goes on"
    if last_word.lower() in language.before_numbers:
        if not complete and following[:1] in ("I", "V", "X"):
            return "waits"
        if not following[:1].isupper() or NUMERAL.fullmatch(following.rstrip(".,;:!?")):
            return "goes on"
    if not following[:1].isupper() and re.split(r"[-–/]", last_word.rstrip("."))[-1] in _short_names(
        language
    ):
        return "goes on"
    if following[:1].islower() and _HALF_DAY.search(sentence[-12:]):
        return "goes on"
    by_language = {"de": _judge_german, "en": _judge_english}.get(language.code)
    verdict = by_language(sentence, following, complete) if by_language else "open"
    if verdict != "open" or not following[:1].isupper():
        return verdict
    return _judge_abbreviation(last_word, following, complete, language)


def _judge_abbreviation(word: str, following: str, complete: bool, language: Language) -> Verdict:
    """Return a verdict on an abbreviation that may end a sentence: "etc.", "Inc.", "the U.S."."""
    short = word in _possible_ends(language) or _INITIALS.search(word) or word.lower() == "no."
    if not short or language.code not in _OPENERS:
        return "open"
    if not complete:
        return "waits"
    return "ends" if following in _OPENERS[language.code] else "open"


@cache
def _followed(language: Language) -> frozenset[str]:
    """Return the abbreviations that do not end a sentence."""
    return frozenset(both_cases(language.before_more))


@cache
def _possible_ends(language: Language) -> frozenset[str]:
    units = [f"{symbol.rstrip('.')}." for symbol in language.units]
    return frozenset([*both_cases(language.anywhere), *units, "St.", "Ave.", "Rd.", "Blvd."])


@cache
def _short_names(language: Language) -> frozenset[str]:
    units = [symbol.rstrip(".") for symbol in language.units if symbol.rstrip(".").isalpha()]
    return frozenset(
        [*language.short_days, *language.short_months, *(unit for unit in units if len(unit) > 1)]
    )


def _judge_german(sentence: str, following: str, complete: bool) -> Verdict:
    tail = sentence[-60:]
    if _GERMAN_STREET.search(tail) and following[:1].isdigit():
        return "goes on"
    if following[:1].islower() and (_GERMAN_NUMBER.search(tail) or _GERMAN_DATE.search(tail)):
        return "goes on"
    if _GERMAN_DATE.search(tail):
        return "goes on" if following[:1].isdigit() else "ends"
    if not _GERMAN_NUMBER.search(tail):
        return "open"
    if not complete and following[:1].isalpha():
        return "waits"
    return "goes on" if continues_after_ordinal(tail, following) else "ends"


def _judge_english(sentence: str, following: str, complete: bool) -> Verdict:
    tail = sentence[-60:]
    names = _AFTER_TIMES if _HALF_DAY.search(tail) else _AFTER_STREETS if _STREET.search(tail) else None
    if names is None or not following[:1].isalpha():
        return "open"
    if following[0].islower():
        return "goes on"
    if names is _AFTER_STREETS and not _STREET_WITH_NUMBER.search(tail):
        return "open"
    if not complete:
        return "waits"
    return "goes on" if following in names else "ends"


def ends_after_abbreviation(abbreviation: str, after: str, language: Language, before: str = "") -> bool:
    """Return True if the full stop of an abbreviation also ends its sentence. after: the text after it."""
    following = re.match(r"[\s\"'”’»)\]*_]*([^\W\d_]*)", after)
    if following is None or not after.strip():
        return True
    word = following[1]
    return bool(word) and judge_full_stop(before + abbreviation, word, True, language) == "ends"
