"""Text as a model writes it to words a synthesizer can read. Pure.

Numbers, signs, abbreviations, addresses and Markdown have rules; English has all of them, other languages
those that need no grammar. Everything else is left as it is written.
"""

from __future__ import annotations

import re
from functools import cache

from voiceagent.text_normalization import addresses, clock, figures, markup, signs
from voiceagent.text_normalization.abbreviations import abbreviation_rules
from voiceagent.text_normalization.languages import Language, find_language
from voiceagent.text_normalization.numbers import has_words
from voiceagent.text_normalization.quantities import quantity_rules
from voiceagent.text_normalization.rules import Rule
from voiceagent.text_normalization.spoken import UNSPACED_LETTER, Alignment, Spoken

__all__ = ["Alignment", "normalize"]

_WORD = re.compile(rf"{UNSPACED_LETTER}|(?:(?!{UNSPACED_LETTER})[^\W\d_])+(?:['’][^\W\d_]+)*|\d+")


def normalize(text: str, language: str = "en") -> tuple[str, Alignment]:
    """The words to speak for `text`, "" where there are none, and how they align.

    language: ISO 639 code. alignment: pairs (index in the spoken words, index in `text`) of the beginnings of
    corresponding words, both ascending.
    """
    reading, spoken = find_language(language), Spoken()
    at, line_starts = 0, True
    while at < len(text):
        if text[at].isspace():
            spoken.space()
            line_starts = line_starts or text[at] == "\n"
            at += 1
        elif line_starts and (mark := markup.LINE_START.match(text, at)):
            spoken.silence(at, leads=True)
            at = mark.end()
        else:
            line_starts = False
            at = _read(text, at, reading, spoken)
    return spoken.result


def _read(text: str, at: int, language: Language, spoken: Spoken) -> int:
    """Read what stands at `at`; returns where it ends."""
    for rule in _rules(text, at, language):
        if (match := rule.pattern.match(text, at)) and (words := rule.read(match, language)) is not None:
            if words.isspace():
                spoken.space()
            elif words:
                spoken.say(words, at)
            else:
                spoken.silence(at)
            return match.end()
    if word := _WORD.match(text, at):
        spoken.keep(word[0], at)
        return word.end()
    spoken.mark(text[at], at)
    return at + 1


def _rules(text: str, at: int, language: Language) -> tuple[Rule, ...]:
    """The rules that may apply to what stands at `at`."""
    letters, numbers, others = _rules_of(language)
    inside_word = at > 0 and text[at - 1].isalnum()
    if text[at].isalpha():
        return () if inside_word else letters
    if text[at].isalnum():
        return numbers[-1:] if inside_word else numbers
    return others


@cache
def _rules_of(language: Language) -> tuple[tuple[Rule, ...], tuple[Rule, ...], tuple[Rule, ...]]:
    """The rules of a language for what begins with a letter, with a figure, with anything else."""
    quantities = (*figures.RULES, *quantity_rules(language)) if has_words(language) else ()
    dated = clock.RULES if has_words(language) else ()
    by_kind = (
        (*addresses.RULES, *dated, *abbreviation_rules(language)),
        (*addresses.RULES, *dated, *quantities),
        (*markup.RULES, *quantities, *signs.RULES),
    )
    letters, numbers, others = (
        tuple(rule for rule in rules if not rule.languages or language.code in rule.languages)
        for rules in by_kind
    )
    return letters, numbers, others
