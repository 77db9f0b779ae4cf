"""Capture of names that are spelled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import ClassVar

from audio.recognizers import Spelling
from voiceagent.agents.capture.corrections import correct_text, spell_out
from voiceagent.agents.capture.symbols import Symbol, symbols_of, without_openings
from voiceagent.agents.capture.task import Circumstances, Heard, Task

MAX_WORDS = 5
"""Maximum words of a name: more are a sentence."""
_INITIAL = re.compile(r"(?<![^\W_])[^\W_]|(?<=\bmc)[^\W_](?=\w\w)")
_SIMILAR = 0.4
"""Minimum similarity of a misheard name and the letters that spell it."""


@dataclass(frozen=True)
class Name(Task[str]):
    """A name with capital initials. Callers may say it, spell it, or both."""

    asks_for: ClassVar[Spelling] = "name"

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[str]:
        """Parse words and letters: letters replace the word that they spell."""
        symbols = symbols_of(without_openings(text, now.language), now.language)
        words = spelled_words(symbols)
        if not words or len(words) > MAX_WORDS:
            return Heard()
        name = " ".join(words)
        return Heard(_capitalized(name), name)

    def read_back(self, value: str, now: Circumstances, careful: bool) -> str:
        """Return the name and its letters."""
        spelled = "; ".join(spell_out(word, now.words, careful) for word in value.lower().split())
        return f"{value}: {spelled}"

    def correct(self, value: str, text: str, now: Circumstances) -> str | None:
        """Return the name with one letter or one word changed, or another name."""
        plain = without_openings(text, now.language)
        symbols = symbols_of(plain, now.language)
        letters = sum(symbol.kind == "letter" for symbol in symbols)
        words = spelled_words(symbols)
        if letters > 2 or not letters:
            return _capitalized(_with_words(value.lower().split(), words)) if words else None
        changed = correct_text(value.lower(), plain, now)
        return None if changed is None else _capitalized(changed)


def spelled_words(symbols: Sequence[Symbol]) -> list[str]:
    """Return the words of a name. A spelled run replaces the word before it that it spells; a single letter
    is an initial.
    """
    words: list[str] = []
    run = ""
    spelled: set[int] = set()
    for symbol in [*symbols, Symbol("sign", "")]:
        if symbol.kind == "letter":
            run += symbol.text
            continue
        if run:
            at = _spelled_word(words, run, spelled)
            if at is None:
                words.append(run)
                at = len(words) - 1
            words[at] = run
            spelled.add(at)
            run = ""
        if symbol.kind == "word":
            words.append(symbol.text)
        elif symbol.kind == "sign" and symbol.text in "-'" and symbol.text and words:
            words[-1] += symbol.text
    return _joined_at_signs(words)


def _spelled_word(words: Sequence[str], run: str, spelled: set[int]) -> int | None:
    """Return the index of the word that the letters spell, None if there is none."""
    if len(run) < 2:
        return None
    free = [at for at in range(len(words)) if at not in spelled]
    rated = [
        (SequenceMatcher(None, words[at], run).ratio() + (words[at][0] == run[0]) * 0.2, at) for at in free
    ]
    if not rated:
        return None
    likeness, at = max(rated)
    return at if likeness >= _SIMILAR or len(free) == 1 else None


def _joined_at_signs(words: Sequence[str]) -> list[str]:
    """Join words at hyphens and apostrophes: "smith-", "jones"."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1][-1] in "-'":
            joined[-1] += word
        else:
            joined.append(word)
    return [word.strip("-'") for word in joined if word.strip("-'")]


def _with_words(words: list[str], new: Sequence[str]) -> str:
    """Return the name with the word replaced that is most like a single new one; several are a new name."""
    if len(new) != 1 or len(words) == 1:
        return " ".join(new)
    ratio, at = max((SequenceMatcher(None, word, new[0]).ratio(), at) for at, word in enumerate(words))
    if ratio < _SIMILAR:
        return " ".join(new)
    return " ".join([*words[:at], new[0], *words[at + 1 :]])


def _capitalized(name: str) -> str:
    """Return a name with capital initials, after hyphens, apostrophes and "Mc" too: "O'Hara", "McPhee"."""
    return _INITIAL.sub(lambda initial: initial[0].upper(), name)
