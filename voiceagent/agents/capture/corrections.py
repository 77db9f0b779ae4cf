"""Corrections of spelled text: "no, B as in boy", "five, not nine", "the third letter is M", "double T"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache
from operator import ne
from string import ascii_lowercase

from audio.recognizers.decoding.frequent_names import FIRST_NAMES, LAST_NAMES
from audio.recognizers.decoding.spelling_prior import END, LetterPrior
from voiceagent.agents.capture.languages import CaptureLanguage
from voiceagent.agents.capture.letter_remarks import correct_count
from voiceagent.agents.capture.symbols import Symbol, sound_alike, symbols_of
from voiceagent.agents.capture.task import Circumstances
from voiceagent.conversation.words import phrase_length_at, words_of

_NEAREST = [
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
    "ao",
]
"""Pairs among them that are mistaken for each other most often."""
_ALIKE_NATS, _NEAREST_NATS = 2.5, 4.0
"""Evidence that a letter was mistaken for another, of these kinds and compared with any other."""
_PRIOR_WEIGHT, _MAX_LOSS_NATS = 0.7, 2.0
"""Weight of the likelihood of names beside it, as in the recognizer's search; and the most that a rare name
loses against the frequent one that was heard: "Smyth".
"""
_CLEAR_NATS = 1.0
"""Minimum lead of the likeliest place of a corrected letter over the next."""
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
_LETTERS = re.compile("[a-z]+")
_LAST = {"en": "last", "de": "letzte", "es": "última"}
_MIN_SIMILAR = 0.5
"""Minimum similarity of a part and what replaces it."""


def correct_text(draft: str, text: str, now: Circumstances) -> str | None:
    """Return a spelled text after a correction; None if none is found, or it fits several places.

    draft: lower case, as it was read back. text: the caller's words, without their "no".
    """
    if now.language == "en" and (counted := correct_count(draft, text)) is not None:
        return counted
    symbols = _without_article(symbols_of(text, now.language), text)
    if (old_and_new := instead_of(text, now)) is not None:
        old, new = old_and_new
        if draft.count(old) == 1:
            return draft.replace(old, new)
        place = place_of(new, draft, old) if len(old) == len(new) == 1 else None
        return None if place is None else draft[:place] + new + draft[place + 1 :]
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


def place_of(new: str, draft: str, wrong: str = "") -> int | None:
    """Return the index of the character that was probably mistaken for a corrected one: they sound alike, and
    with the new one the text is a likelier name. None if there is none, or another is nearly as likely.

    wrong: the character that the caller has named as the wrong one, "" if it is not known.
    """
    rated = [
        (_likeness(new, old) + _gain(draft, at, new), at)
        for at, old in enumerate(draft)
        if old != new and (not wrong or old == wrong)
    ]
    if not rated:
        return None
    (best, at), *others = sorted(rated, reverse=True)
    return at if not others or best - others[0][0] >= _CLEAR_NATS else None


def _likeness(new: str, old: str) -> float:
    """Return the evidence that a character was mistaken for another, in nats."""
    if f"{new}{old}" in _NEAREST or f"{old}{new}" in _NEAREST:
        return _NEAREST_NATS
    return _ALIKE_NATS if sound_alike(new, old) else 0.0


def _gain(draft: str, at: int, new: str) -> float:
    """Return how much likelier the name around an index is with a new letter there, in weighted nats; 0 for
    figures, and for letters that names have not.
    """
    if new not in ascii_lowercase or draft[at] not in ascii_lowercase:
        return 0.0
    name = next(run for run in _LETTERS.finditer(draft) if run.start() <= at < run.end())
    place = at - name.start()
    changed = name[0][:place] + new + name[0][place + 1 :]
    return max(-_MAX_LOSS_NATS, _PRIOR_WEIGHT * (_likelihood(changed) - _likelihood(name[0])))


def _likelihood(name: str) -> float:
    """Return the logarithm of the probability that letters are a name, compared with any letters."""
    prior = _name_prior()
    return sum(prior.gain(name[:at], letter) for at, letter in enumerate(name)) + prior.gain(name, END)


# made for the first correction of a letter, as it takes 0.03 s
@cache
def _name_prior() -> LetterPrior:
    return LetterPrior((*FIRST_NAMES, *LAST_NAMES))


def instead_of(text: str, now: Circumstances) -> tuple[str, str] | None:
    """Return the old and the new part of "B, not D" and "M instead of N"; None for other texts."""
    tokens = words_of(text)
    length = phrase_length_at(tokens, 0, now.words.instead_of)
    if length and len(refused := _characters(tokens[length:], now)) == 2:  # "not B, D"
        return refused[0], refused[1]
    for at in range(1, len(tokens)):
        length = phrase_length_at(tokens, at, now.words.instead_of)
        if not length:
            continue
        new, old = (_characters(part, now) for part in (tokens[:at], tokens[at + length :]))
        if new and old:
            return old, new
    return None


def _characters(tokens: Sequence[str], now: Circumstances) -> str:
    """Return the letters, digits and signs of words, without an article: "a dot"."""
    while len(tokens) > 1 and tokens[0] in ("a", "an", "the", "it's", "its", "is"):
        tokens = tokens[1:]
    return joined(symbol for symbol in symbols_of(" ".join(tokens), now.language) if symbol.kind != "word")


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
    """Return the draft with the window replaced that is most like `new`; None if none is, or several are.

    A misheard character is likelier than a lost one: "2672" takes the place of "2671", not of "267".
    """
    starts = range(len(draft) - len(new) + 1)
    differing = [at for at in starts if sum(map(ne, draft[at : at + len(new)], new)) == 1]
    if new not in draft and len(differing) == 1 and len(new) > 2:
        return draft[: differing[0]] + new + draft[differing[0] + len(new) :]
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
