"""Roman numerals: "Henry VIII", "Chapter IV", "siglo XIX"."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import in_words
from voiceagent.text_normalization.ordinals import german_ordinal
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before
from voiceagent.text_normalization.sentence_ends import answers_no

_VALUES = {"L": 50, "X": 10, "V": 5, "I": 1}
_NUMERAL = r"(?:(?:XL|L(?=[XVI])X{0,3}|X{1,3})(?:IX|IV|V?I{0,3})|IX|IV|VI{0,3}|I{1,3})"
"""Numerals to 89. With C, D and M more words look like numerals than there are numerals."""
_FEW = 39
"""The largest numeral that any capitalized name may have before it; "XL" and "LX" are more often letters."""
_EARLIER = re.compile(
    rf"[ ](?P<numeral>{_NUMERAL})(?:[ ]?[-–—][ ]?|,?[ ](?:and|or|to|und|bis|oder|y|et|e|en)[ ]|,[ ])$"
)
"""The numeral before this one: "Acts II–IV", "Chapters II and IV"."""
_TITLED = re.compile(
    r"\b(?:Pope|King|Queen|Emperor|Empress|Tsar|Papst|König|Kaiser)[ ]"
    r"(?!(?:Street|St|Road|Avenue|Square|Lane|Size|Room|Suite|Bed)\b)[A-Z]\w+[ ]$"
)
_AFTER_ONE = re.compile(r"\W*$|[,;:)–-]|[ ](?:of|ist|war)\b")
"""Text after an "I" behind a title that makes it a numeral, not the speaker."""


def value_of(numeral: str) -> int:
    """Return the value of a Roman numeral of X, V and I."""
    values = [_VALUES[letter] for letter in numeral]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


def _read_numeral(match: re.Match[str], language: Language) -> str | None:
    return _ending(match, _numeral_words(match, language))


def _numeral_words(match: re.Match[str], language: Language) -> str | None:
    preceding = text_before(match, 32)
    letter = len(match["numeral"]) == 1
    while earlier := _EARLIER.search(preceding):
        preceding = f"{preceding[: earlier.start()]} "
        letter = letter or len(earlier["numeral"]) == 1
    before = re.search(r"([^\W\d_]+\.?)[ ]$", preceding)
    word, number = (before[1] if before else ""), value_of(match["numeral"])
    abbreviated = word.lower() in language.before_numbers and not answers_no(preceding)
    word = language.before_numbers[word.lower()] if abbreviated else word  # "vol. II"
    names = language.roman
    titled = word not in names.rulers and _TITLED.search(preceding) is not None
    if match["numeral"] == "I" and (abbreviated or (titled and not _AFTER_ONE.match(text_after(match, 16)))):
        return None  # "I like art. I paint", "the King David I saw"
    if titled or word in names.rulers:
        return _ruler_words(word, number, language)
    following = re.match(r"[ ](\w+)", text_after(match, 16))
    if (following and following[1] in names.ordered) or match["mark"]:
        return _century_words(number, following[1] if following else "", text_before(match), language)
    if number > _FEW and match["numeral"] in ("XL", "LX"):
        return None
    named = not letter and (abbreviated or word[:1].isupper()) and number <= _FEW
    if named or word.lower() in names.counted or word.lower().removesuffix("s") in names.counted:
        return in_words(number, language)
    return None


def _ending(match: re.Match[str], words: str | None) -> str | None:
    """Return the words, with the full stop of a German ordinal if it also ends the sentence."""
    if words and match["own"]:
        return f"{words}{match['own']}"
    return f"{words}." if words and match[0].endswith(".") and not text_after(match).strip() else words


def _century_words(number: int, noun: str, before: str, language: Language) -> str | None:
    if language.code == "de":
        return german_ordinal(number, before, noun, language)
    return in_words(number, language, "ordinal")


def _ruler_words(name: str, number: int, language: Language) -> str | None:
    """Return the words after a ruler's name: "the eighth", "quatorze", "sexto"."""
    ordinal = in_words(number, language, "ordinal") or ""
    woman = name.endswith(("a", "beth", "Isabel", "Mary"))
    if language.code == "de":
        return f"{'die' if woman else 'der'} {ordinal.capitalize()}"
    if article := {"en": "the", "nl": "de"}.get(language.code):
        return f"{article} {ordinal}"
    if woman and language.code in ("es", "it", "pt"):
        return re.sub("o$", "a", ordinal)
    as_count = (language.code == "fr" and number > 1) or (language.code in ("es", "pt") and number > 10)
    return in_words(number, language) if as_count else ordinal


def rules_of(language: Language) -> tuple[Rule, ...]:
    """Return the rules for Roman numerals in a language; none if it has no words for them."""
    if not language.roman.counted:
        return ()
    stop = r"\.?" if language.code == "de" else ""
    own = r"['’]s\b" if language.code == "en" else "(?!)"
    pattern = rf"(?P<numeral>{_NUMERAL})(?P<mark>er|e|ème)?\b(?P<own>{own})?{stop}(?!\w)"
    return (rule(pattern, _read_numeral),)
