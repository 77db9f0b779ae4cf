"""Words of a name, and the letters that spell them: "Siobhan Kelly, K E double L Y"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from voiceagent.agents.capture.symbols import Symbol

SIMILAR = 0.4
"""Minimum similarity of a misheard word and the letters that spell it."""
_SIMILAR_WORDS = 0.7
"""The same for several words that are spelled in one row of letters."""
_FIRST_LETTER = 0.2
"""Added to a similarity if the first letters are the same."""
_MAX_WORDS = 3
"""Words that are spelled in one row of letters."""
_THREE_TIMES = re.compile(r"([a-z])\1{2,}")
"""Letters that no name has: of "double L", recognizers write "double l, l"."""
_NO_NAMES = frozenset(("then", "and", "is", "that's", "that", "with", "it's", "spelled", "spelt", "uh", "um"))
"""Words between a name and its letters: "Evans is E V A N S"."""
_PARTICLES = frozenset(("al", "da", "de", "di", "du", "el", "la", "le", "mc", "st"))
"""Two letters that are a word of names, not initials before one."""
_MISHEARD_LETTER = 3
"""Letters of a word that a letter was misheard as, at most: "the" for B."""
_SAID_AGAIN = 0.8
"""Minimum similarity of letters and a word before the one that they spell, if it is the same word."""


def spelled_words(symbols: Sequence[Symbol]) -> list[str]:
    """Return the words of a name. Letters take the place of the words that they spell; a single letter is an
    initial.
    """
    words: list[str] = []
    spelled: set[int] = set()
    run = ""
    kept = [*_of_name(symbols), Symbol("sign", "")]
    if _begins_with_initials(kept[:-1]):
        return [symbol.text for symbol in kept[:-1]]
    for symbol, after in pairwise(kept):
        if symbol.kind == "letter" or (symbol.kind == "sign" and run and after.kind == "letter"):
            run += symbol.text
        elif symbol.kind == "word" and not (
            spelled and symbol.text in words
        ):  # "Jan van Berg, J A N, van ..."
            words.append(symbol.text)
        elif symbol.kind == "sign" and symbol.text in "-'" and words:
            words[-1] += symbol.text
        if run and after.kind != "letter" and not (after.kind == "sign" and after.text):
            run = _THREE_TIMES.sub(r"\1\1", run.strip("-' "))
            _put(words, _with_first_letter(words, run), spelled)
            run = ""
    return _joined_at_signs(words)


def _begins_with_initials(symbols: Sequence[Symbol]) -> bool:
    """Return True for two initials before one or two words: "J R Smith"."""
    kinds = [symbol.kind for symbol in symbols]
    initials = "".join(symbol.text for symbol in symbols[:2])
    before_words = kinds[:2] == ["letter", "letter"] and kinds[2:] in (["word"], ["word", "word"])
    return before_words and initials not in _PARTICLES


def _of_name(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols that may be part of a name. "Space" next to a letter is a sign."""
    kinds = ["", *(symbol.kind for symbol in symbols), ""]
    kept: list[Symbol] = []
    for at, symbol in enumerate(symbols, 1):
        if symbol.text == "space" and "letter" in (kinds[at - 1], kinds[at + 1]):
            kept.append(Symbol("sign", " "))
        elif symbol.text not in _NO_NAMES and (symbol.kind != "sign" or symbol.text in "-'"):
            kept.append(symbol)
    return kept


def _with_first_letter(words: list[str], run: str) -> str:
    """Return spelled letters with the first one, if it was misheard as a short word, which is taken out of
    `words`: "Brooks, the R O O K S".
    """
    if words and len(words[-1]) <= _MISHEARD_LETTER and len(run) > 2:
        spelled = next((word for word in words[:-1] if word[1:] == run), None)
        if spelled is not None:
            words.pop()
            return spelled
    return run


def _put(words: list[str], run: str, spelled: set[int]) -> None:
    """Put letters in the place of the words that they spell, or at the end."""
    place = _spelled_place(words, run, spelled)
    if place is None:
        spelled.add(len(words))
        words.append(run)
        return
    begin, length = place
    if begin and begin - 1 not in spelled and _likeness(words[begin - 1], run) >= _SAID_AGAIN:
        del words[begin - 1]  # "Anne Dubois, and Dubois is D U B O I S"
        begin -= 1
    new = run.split(" ") if " " in run else _parted(run, words[begin : begin + length])
    if len(new) != length:
        new = [" ".join(new)]
    words[begin : begin + length] = new
    shift = len(new) - length
    moved = {at + shift if at >= begin + length else at for at in spelled}
    spelled.clear()
    spelled |= moved | set(range(begin, begin + len(new)))


def _spelled_place(words: Sequence[str], run: str, spelled: set[int]) -> tuple[int, int] | None:
    """Return the index of the first word that the letters spell and the number of words; None if none is."""
    letters = _letters(run)
    if len(letters) < 2:
        return None
    free = [at for at in range(len(words)) if at not in spelled or len(words[at]) == 1]  # "O, Hara"
    rated = []
    for begin in free:
        for length in range(1, _MAX_WORDS + 1):
            if any(at not in free for at in range(begin, begin + length)):
                break
            text = _letters("".join(words[begin : begin + length]))
            likeness = SequenceMatcher(None, text, letters).ratio()
            if length == 1 or likeness >= _SIMILAR_WORDS:
                rated.append((likeness + (text[:1] == letters[0]) * _FIRST_LETTER, -length, begin))
    if not rated:
        return None
    likeness, negative_length, begin = max(rated)
    return (begin, -negative_length) if likeness >= SIMILAR or len(free) == 1 else None


def _parted(run: str, words: Sequence[str]) -> list[str]:
    """Return the letters as as many words as they spell, with the signs of these words."""
    if len(words) == 1:
        return [_with_signs(run, words[0])]
    if _letters(run) != run:  # the letters came with their own sign: "O, apostrophe, B ..." for "oh brian"
        return [run]
    rest = words[1:]
    cuts = range(1, len(run) - len(rest) + 1)
    rated = [
        (
            SequenceMatcher(None, words[0], run[:cut]).ratio()
            + SequenceMatcher(None, "".join(rest), run[cut:]).ratio(),
            cut,
        )
        for cut in cuts
    ]
    _, cut = max(rated)
    return [run[:cut], *_parted(run[cut:], rest)]


def _with_signs(run: str, word: str) -> str:
    """Return letters with the hyphen or apostrophe of the word that they spell, if it was not spelled."""
    if _letters(run) != run or _letters(word) == word:
        return run
    if _letters(word) == run:
        return word
    return f"{run[0]}'{run[1:]}" if word[1:2] == "'" and word[0] == run[0] else run


def _likeness(word: str, letters: str) -> float:
    return SequenceMatcher(None, word, letters).ratio()


def _letters(text: str) -> str:
    return "".join(one for one in text if one not in "-' ")


def _joined_at_signs(words: Sequence[str]) -> list[str]:
    """Join words at hyphens and apostrophes: "smith-", "jones"."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1][-1] in "-'":
            joined[-1] += word
        else:
            joined.append(word)
    return [word.strip("-'") for word in joined if word.strip("-'")]
