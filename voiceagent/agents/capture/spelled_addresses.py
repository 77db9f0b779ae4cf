"""Letters in an e-mail address that spell a word said before them, or a part that was misheard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from voiceagent.agents.capture.corrections import joined
from voiceagent.agents.capture.symbols import Symbol

SIMILAR_WORD, _FIRST_LETTER = 0.6, 0.15
"""Minimum similarity of a word and the letters that spell it; added to it if the first ones are the same."""
_MAX_ROW, _SIMILAR_ROW = 3, 0.85
"""Words that are spelled in one row of letters, at most; minimum similarity of the two."""
_DOUBLED_FIRST = "aefloi"
"""Letters with which a name may begin twice: "Lloyd", "Aaron"."""
_MIN_PIECE = 3
"""Letters of a piece that is spelled again, at least."""
_MAX_MISSED = 3
"""Letters of a spelled piece that were not heard before, at most: "anna" for "hannah"."""
_AS_LONG = 0.3
"""Such a similarity of the only piece as long as what was spelled: "nadia" for "maybea" in "maybea.k"."""


def merge_spelled(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols with the letters that spell a word in its place: "john, J O H N"."""
    merged: list[Symbol] = []
    run = ""
    for symbol in [*symbols, Symbol("sign", "")]:
        if symbol.kind == "letter":
            run += symbol.text
            continue
        if len(run) > 1:
            merged[_place_of(merged, run)] = [Symbol("letter", run)]
        elif run:
            merged.append(Symbol("letter", run))
        run = ""
        merged.append(symbol)
    return merged[:-1]


def _place_of(symbols: Sequence[Symbol], run: str) -> slice:
    """Return the place of the symbols that letters spell; the end if they spell none."""
    if (first := _spelled_words(symbols, run)) is not None:
        return slice(first, None)
    if (at := _spelled_word(symbols, run)) is not None:
        return slice(at, at + 1)
    return slice(len(symbols) - (2 if _spells_after_sign(symbols, run) else 0), None)


def _spelled_words(symbols: Sequence[Symbol], run: str) -> int | None:
    """Return the index of the first of the last words that these letters spell in one row: "john smith,
    J O H N S M I T H". None if they spell one word, or none.
    """
    last = SequenceMatcher(None, run, symbols[-1].text).ratio() if symbols else 0.0
    for count in range(_MAX_ROW, 1, -1):
        words = symbols[-count:]
        if len(words) == count and all(symbol.kind == "word" for symbol in words):
            said = "".join(symbol.text for symbol in words)
            if SequenceMatcher(None, run, said).ratio() >= max(_SIMILAR_ROW, last):
                return len(symbols) - count
    return None


def _spelled_word(symbols: Sequence[Symbol], run: str) -> int | None:
    """Return the index of the last word that these letters spell, if they follow a word."""
    if not symbols or symbols[-1].kind != "word":
        return None
    for at in range(len(symbols) - 1, -1, -1):
        if symbols[at].kind in ("letter", "digits"):
            return None
        if symbols[at].kind == "word" and _spells(run, symbols[at].text):
            return at
    return None


def _spells_after_sign(symbols: Sequence[Symbol], run: str) -> bool:
    """Return True if letters and the sign before them spell the last word and the sign before it, as those
    before did: "blue dash sky, B L U E dash" and "S K Y".
    """
    if [symbol.kind for symbol in symbols[-4:]] != ["letter", "sign", "word", "sign"]:
        return False
    return symbols[-3] == symbols[-1] and _spells(run, symbols[-2].text)


def _spells(run: str, word: str) -> bool:
    """Return True if letters spell a word, as it was misheard: "mire, M E R"."""
    same_first = len(run) > 2 and run[0] == word[0]
    if same_first and len(run) == len(word) == _MIN_PIECE:  # "Lee, L I U"
        return True
    return SequenceMatcher(None, run, word).ratio() + same_first * _FIRST_LETTER >= SIMILAR_WORD


def with_spelled_piece(local: str, symbols: Sequence[Symbol]) -> str | None:
    """Return the local part with the piece between signs replaced that is like a spelled row of letters, and
    not longer: the row may be a part of it. None if there is no such row or piece.
    """
    row = joined(symbols)
    if len(row) < _MIN_PIECE or any(symbol.kind not in ("letter", "digits") for symbol in symbols):
        return None
    pieces = re.split(r"([._+-])", local)
    near = [piece for piece in pieces if piece[:1] == row[0] and len(piece) == len(row) - 1]
    if row[0] == row[1] and row[0] not in _DOUBLED_FIRST and near and row[1:] not in near:
        row = row[1:]  # "Heinz, H E I N Z": the word was heard as its first letter
    ratio, at = max((SequenceMatcher(None, piece, row).ratio(), at) for at, piece in enumerate(pieces))
    as_long = [one for one, piece in enumerate(pieces) if abs(len(piece) - len(row)) <= 1]
    least = _AS_LONG if as_long == [at] and len(pieces) > 1 else SIMILAR_WORD
    part = pieces[at].startswith(row) or pieces[at].endswith(row)
    too_many = 2 if part else 1  # "gabi" for "gabice", "gordon" for "omgordon"
    if ratio < least or not -too_many <= len(row) - len(pieces[at]) <= _MAX_MISSED:
        return None
    return "".join([*pieces[:at], row, *pieces[at + 1 :]])
