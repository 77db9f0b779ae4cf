"""Corrections of spelled text: "no, B as in boy", "five, not nine", "the third letter is M", "double T"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from voiceagent.agents.capture.languages import CaptureLanguage
from voiceagent.agents.capture.symbols import Symbol, symbols_of
from voiceagent.agents.capture.task import Circumstances
from voiceagent.conversation.words import phrase_length_at, words_of

_ALIKE = ("bcdegptvz3", "ahjk8", "mn", "fsx", "iy59", "lmno", "quw", "ar")
"""Letters and figures that sound alike."""
_NEAREST = (
    "bd",
    "bv",
    "bp",
    "pt",
    "td",
    "cz",
    "gj",
    "mn",
    "fs",
    "59",
    "jk",
    "vz",
    "a8",
    "iy",
    "19",
    "gd",
    "ae",
)
"""Pairs among them that are mistaken for each other most often."""
_ORDINALS = {
    "en": ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    "de": ("erste", "zweite", "dritte", "vierte", "fünfte", "sechste", "siebte", "achte", "neunte", "zehnte"),
    "es": (
        "primera",
        "segunda",
        "tercera",
        "cuarta",
        "quinta",
        "sexta",
        "séptima",
        "octava",
        "novena",
        "décima",
    ),
}
_LAST = {"en": "last", "de": "letzte", "es": "última"}
_MIN_SIMILAR = 0.5
"""Minimum similarity of a part and what replaces it."""


def correct_text(draft: str, text: str, now: Circumstances) -> str | None:
    """Return a spelled text after a correction; None if none is found, or it fits several places.

    draft: lower case, as it was read back. text: the caller's words, without their "no".
    """
    symbols = _without_article(symbols_of(text, now.language), text)
    if (old_and_new := instead_of(text, now)) is not None:
        old, new = old_and_new
        return draft.replace(old, new) if draft.count(old) == 1 else None
    spelled = joined(symbol for symbol in symbols if symbol.kind != "word")
    if not spelled:
        return None
    place = _named_place(draft, text, now.language)
    if place is not None:
        return draft[:place] + spelled[-1] + draft[place + 1 :]
    if len(spelled) == 1:
        place = place_of(spelled, draft)
        return None if place is None else draft[:place] + spelled + draft[place + 1 :]
    if len(spelled) == 2 and spelled[0] == spelled[1]:
        return _doubled(draft, spelled[0])
    return replace_similar(draft, spelled)


def joined(symbols: Iterable[Symbol]) -> str:
    """Return the characters of symbols."""
    return "".join(symbol.text for symbol in symbols)


def place_of(new: str, draft: str) -> int | None:
    """Return the index of the one character that sounds most like a corrected one; None if there is none, or
    there are several.
    """
    likeness = [_likeness(new, old) for old in draft]
    best = max(likeness, default=0)
    return likeness.index(best) if best and likeness.count(best) == 1 else None


def _likeness(new: str, old: str) -> int:
    if new == old:
        return 0
    if f"{new}{old}" in _NEAREST or f"{old}{new}" in _NEAREST:
        return 2
    return int(any(new in group and old in group for group in _ALIKE))


def instead_of(text: str, now: Circumstances) -> tuple[str, str] | None:
    """Return the old and the new part of "B, not D" and "M instead of N"; None for other texts."""
    tokens = words_of(text)
    for at in range(1, len(tokens)):
        length = phrase_length_at(tokens, at, now.words.instead_of)
        if not length:
            continue
        new, old = (
            joined(symbol for symbol in symbols_of(" ".join(part), now.language) if symbol.kind != "word")
            for part in (tokens[:at], tokens[at + length :])
        )
        if new and old:
            return old, new
    return None


def _without_article(symbols: list[Symbol], text: str) -> list[Symbol]:
    """Return the symbols without the "a" of "with a Y"."""
    if re.search(r"\b(?:with|as|is|it's) an? [a-z]\b(?!-)", text.lower()):
        return [symbol for symbol in symbols if symbol != Symbol("letter", "a")]
    return symbols


def _named_place(draft: str, text: str, language: str) -> int | None:
    """Return the index that an ordinal names: "the third letter is M". Signs do not count."""
    tokens = words_of(text)
    places = [at for at, character in enumerate(draft) if character.isalnum()]
    ordinals = _ORDINALS.get(language, ())
    named = [ordinals.index(token) for token in tokens if token in ordinals]
    if len(named) == 1 and named[0] < len(places):
        return places[named[0]]
    last = _LAST.get(language)
    return places[-1] if last in tokens and places else None


def _doubled(draft: str, character: str) -> str | None:
    """Return the draft with this letter doubled; None unless it has the letter exactly once."""
    if draft.count(character) != 1:
        return None
    return draft.replace(character, 2 * character)


def replace_similar(draft: str, new: str) -> str | None:
    """Return the draft with the window replaced that is most like `new`; None if none is, or several are."""
    rated = [
        (SequenceMatcher(None, draft[at : at + length], new).ratio(), -abs(length - len(new)), at, length)
        for length in range(max(1, len(new) - 1), len(new) + 2)
        for at in range(len(draft) - length + 1)
    ]
    if not rated:
        return None
    best = max(rated)
    equal = [one for one in rated if one[:2] == best[:2]]
    if best[0] < _MIN_SIMILAR or len(equal) > 1:
        return None
    _, _, at, length = best
    return draft[:at] + new + draft[at + length :]


def spell_out(text: str, words: CaptureLanguage, careful: bool) -> str:
    """Return a text letter by letter for a voice. careful: with an example for each letter."""
    signs = {sign: name for name, sign in reversed(list(words.signs.items()))}
    examples = {letter: example for example, letter in reversed(list(words.alphabet.items()))}
    parts = []
    for character in text:
        if careful and character in examples:
            parts.append(f"{character.upper()} {words.prompts.as_in} {examples[character].capitalize()}")
        else:
            parts.append(signs.get(character, character.upper()))
    return ", ".join(parts)
