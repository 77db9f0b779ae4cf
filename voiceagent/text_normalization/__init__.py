"""Converts text as a model writes it to words that a synthesizer can read.

Each kind of text has a file of rules: codes, telephone numbers, dates, times, ordinals, money, units,
streets, addresses, abbreviations, Roman numerals, markup. `languages/` holds their names and words. English,
German and Spanish have all kinds; French, Italian, Dutch and Portuguese have all but streets and a few
spellings. Text without a rule in its language stays as written.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import cache

from voiceagent.text_normalization import (
    addresses,
    codes,
    formulas,
    markup,
    ordinals,
    roman,
    signs,
    speech_markup,
    streets,
    technical,
    telephone,
)
from voiceagent.text_normalization.abbreviations import abbreviation_rules
from voiceagent.text_normalization.dates import date_name_rules, date_rules
from voiceagent.text_normalization.languages import Language, find_language
from voiceagent.text_normalization.money import money_rules
from voiceagent.text_normalization.numbers import has_words
from voiceagent.text_normalization.quantities import WORD_RULES, point_rules, quantity_rules
from voiceagent.text_normalization.rules import Rule
from voiceagent.text_normalization.sentence_ends import GLUED
from voiceagent.text_normalization.speech_markup import ELLIPSIS, pause_of_ellipsis
from voiceagent.text_normalization.spoken import UNSPACED_LETTER, Alignment, Spoken
from voiceagent.text_normalization.spoken_digits import places_of_digits
from voiceagent.text_normalization.times import time_rules
from voiceagent.text_normalization.units import unit_name_rules, unit_rules

__all__ = ["Alignment", "normalize"]

_UNSPACED = re.compile(UNSPACED_LETTER)
_PLAIN = re.compile(r"(?![A-Z]{2,3}\s|Rs\s)[^\W\d_]+(?=[\s,;!?]|$)")
"""A word that needs no rule for addresses, codes or money; "USD" and "BA" may begin some."""
_PUNCTUATION = frozenset(".,?;\"'’“”")
_ENTITY = re.compile(r"&(?:\#\d{1,6}|[a-z]{2,8});")
"""A character as HTML writes it: "&quot;", "&#39;"."""
_SECOND_SIDE = re.compile(r"\d['’′\"″]?[x×]$")
"""The text before the second number of "9x13 cm"."""
_ELIDED = re.compile(r"\b(?:[dlDL]|qu|[Dd]all|[Dd]ell|[Nn]ell|[Aa]ll|[Ss]ull|un)$")
"""French and Italian words before an apostrophe: "l'8 marzo"."""
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_WORD = re.compile(
    rf"{UNSPACED_LETTER}|(?:(?!{UNSPACED_LETTER}|[{_SUPERSCRIPTS}])[^\W\d_])+(?:['’][^\W\d_]+)*|\d+"
)


def normalize(text: str, language: str = "en", before: str = "") -> tuple[str, Alignment]:
    """Return the words to speak for `text`, "" if there are none, and their alignment: pairs (index in the
    spoken words, index in `text`) of the beginnings of corresponding words, both ascending.

    language: ISO 639 code. before: text before `text` that is already spoken; it may show that figures are a
    code, or decide the case of a date.
    """
    reading, spoken = find_language(language), Spoken(len(before))
    whole, at = before + text, len(before)
    line_starts = not before.strip() or before.rstrip(" ").endswith("\n")
    while at < len(whole):
        if whole[at].isspace():
            spoken.add_space()
            line_starts = line_starts or whole[at] == "\n"
            at += 1
        elif line_starts and (mark := markup.LINE_START.match(whole, at)):
            spoken.add_silence(at, joins_next=True)
            at = mark.end()
        else:
            line_starts = False
            at = _read(whole, at, reading, spoken)
    return spoken.result


def _read(text: str, at: int, language: Language, spoken: Spoken) -> int:
    """Read the text at `at`. Return the index of its end."""
    for rule in _rules(text, at, language):
        if (match := rule.pattern.match(text, at)) and (words := rule.read(match, language)) is not None:
            if words.isspace():
                spoken.add_space()
            elif words == ",":
                spoken.add_mark(words, at)
                spoken.add_space()
            elif words:
                spoken.add_words(words, at, places_of_digits(match[0], words, language.code))
            else:
                spoken.add_silence(at)
            return match.end()
    if word := _WORD.match(text, at):
        spoken.add_letters(word[0], at)
        return word.end()
    return _read_mark(text, at, spoken)


def _read_mark(text: str, at: int, spoken: Spoken) -> int:
    """Read a mark that has no rule. Return the index of its end."""
    if entity := _ENTITY.match(text, at):
        for mark in html.unescape(entity[0]):
            spoken.add_mark(mark, at)
        return entity.end()
    if (dots := ELLIPSIS.match(text, at)) and not _UNSPACED.match(text, dots.end()):
        if pause := pause_of_ellipsis(text, dots.end()):
            spoken.add_mark(pause, at)
            spoken.add_space()
        return dots.end()
    if text[at] in "'’" and _ELIDED.search(text, max(0, at - 8), at) and text[at + 1 : at + 2].isdecimal():
        spoken.keep(text[at])
        return at + 1
    if glued := GLUED.match(text, at):
        for mark in glued[0]:
            spoken.add_mark(mark, at)
        spoken.add_space()
        return glued.end()
    spoken.add_mark(text[at], at)
    if text[at] in "—–" and not _UNSPACED.match(text, at + 1):
        spoken.add_space()  # "three left—hurry"
    return at + 1


def _rules(text: str, at: int, language: Language) -> tuple[Rule, ...]:
    """Return the rules whose pattern may match at the index `at`, by the character there."""
    rules = _rules_of(language)
    inside_word = at > 0 and text[at - 1].isalnum()
    if text[at].isalpha():
        if inside_word:
            return ()
        return rules.plain_words if _PLAIN.match(text, at) else rules.letters
    if text[at].isalnum() and text[at] not in _SUPERSCRIPTS:
        return (
            rules.figures[-1:]
            if inside_word and not _SECOND_SIDE.search(text, max(0, at - 3), at)
            else rules.figures
        )
    if text[at] in _PUNCTUATION:
        return rules.full_stop if text[at] == "." else ()
    return () if _ENTITY.match(text, at) and not text.startswith("&amp;", at) else rules.others


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of a language, by the kind of their first character.

    plain_words: letters up to white space, where no address or code begins. figures: the rule for plain
    numbers is the last.
    """

    plain_words: tuple[Rule, ...]
    letters: tuple[Rule, ...]
    figures: tuple[Rule, ...]
    others: tuple[Rule, ...]
    full_stop: tuple[Rule, ...]


def _word_rules(language: Language) -> tuple[Rule, ...]:
    return (
        *date_name_rules(language),
        *abbreviation_rules(language),
        *streets.NAME_RULES,
        *WORD_RULES,
        *unit_name_rules(language),
        *codes.LETTER_RULES,
        *(telephone.VERSION_RULES if has_words(language) else ()),
        *telephone.EXTENSION_RULES,
        *roman.rules_of(language),
    )


@cache
def _rules_of(language: Language) -> _Rules:
    figures: tuple[Rule, ...] = ()
    money: tuple[Rule, ...] = ()
    if has_words(language):
        money = money_rules(language)
        measured = (*ordinals.RULES, *streets.RULES, *money, *unit_rules(language))
        measured = (*measured, *telephone.POINTED_RULES, *quantity_rules(language))
        figures = (*codes.RULES, *time_rules(language), *date_rules(language), *telephone.RULES, *measured)
    addressed = (*addresses.RULES, *telephone.LETTERED_RULES, *technical.RULES)
    signs_first = (
        *speech_markup.RULES,
        *technical.SIGN_RULES,
        *formulas.SIGN_RULES,
        *signs.KEY_RULES,
        *formulas.power_rules(language),
        *markup.RULES,
        *telephone.RULES,
        *money,
        *signs.RULES,
    )

    def of_language(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if not rule.languages or language.code in rule.languages)

    return _Rules(
        of_language(words := _word_rules(language)),
        of_language((*addressed, *money, *codes.RULES, *words)),
        of_language((*addressed, *formulas.figure_rules(language), *figures)),
        of_language(signs_first),
        (*technical.DOT_RULES, *(point_rules() if has_words(language) else ())),
    )
