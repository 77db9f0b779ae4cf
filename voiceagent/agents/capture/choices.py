"""Capture of a yes or no, and of a choice among a few options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import ClassVar

from voiceagent.agents.capture.languages import CaptureLanguage
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.conversation.words import phrase_length_at, words_of
from voiceagent.text_normalization.spoken_digits import digits_of

_SIMILAR = 0.75
_CLEARLY = 0.1
"""Minimum distance of the most similar option to the next one."""
_ORDINALS = {
    "en": ("first", "second", "third", "fourth", "fifth", "sixth"),
    "de": ("erste", "zweite", "dritte", "vierte", "fünfte", "sechste"),
    "es": ("primera", "segunda", "tercera", "cuarta", "quinta", "sexta"),
}


@dataclass(frozen=True)
class YesNo(Task[bool]):
    """A yes or no, by words or by the keys 1 and 2. It is not read back."""

    confirm: bool = False
    dictated: ClassVar[bool] = False
    spelled: ClassVar[bool] = False
    yes_or_no: ClassVar[bool] = True

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[bool]:
        """Parse the answer: the one that its first words give."""
        said = answer_of(text, now.words)
        return Heard() if said is None else Heard(said[0])

    def press(self, keys: str, now: Circumstances) -> Heard[bool]:
        """Parse a key."""
        return Heard({"1": True, "2": False}.get(keys[-1:]))

    def read_back(self, value: bool, now: Circumstances, careful: bool) -> str:
        """Return a word for the answer."""
        return min(now.words.yes if value else now.words.no, key=lambda phrase: (len(phrase), phrase))[0]


@dataclass(frozen=True)
class Choice(Task[str]):
    """One of a few options, as it stands in `options`; by name, number or position, or by its key.

    Args:
        options: Two or more.
    """

    options: Sequence[str] = ()
    confirm: bool = False
    dictated: ClassVar[bool] = False
    spelled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ValueError if there is no choice."""
        if isinstance(self.options, str) or len(set(self.options)) < 2:
            raise ValueError(f"Choice(options={self.options!r:.80}); allowed: two or more different texts")

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[str]:
        """Parse the choice: an option that is named in full wins over one that is only similar."""
        tokens = words_of(text)
        named = [option for option in self.options if _contains(tokens, words_of(option))]
        longest = max(named, key=len, default="")
        if all(option in longest for option in named) and named:
            return Heard(longest)
        ordinals = _ORDINALS.get(now.language, ())
        positions = [ordinals.index(token) for token in tokens if token in ordinals]
        if not positions and not named and (figures := digits_of(text, now.language)):
            positions = [int(figures) - 1] if len(figures) < 3 else []
        if len(positions) == 1 and 0 <= positions[0] < len(self.options):
            return Heard(self.options[positions[0]])
        return Heard(self._similar(tokens) if not named else None)

    def press(self, keys: str, now: Circumstances) -> Heard[str]:
        """Parse the key with the option's number."""
        at = int(keys[-1:] or 0) - 1
        return Heard(self.options[at] if 0 <= at < len(self.options) else None)

    def read_back(self, value: str, now: Circumstances, careful: bool) -> str:
        """Return the option."""
        return value

    def _similar(self, tokens: Sequence[str]) -> str | None:
        """Return the option that is clearly the most similar to some words of the text."""
        rated = sorted(
            ((_likeness(tokens, words_of(option)), option) for option in self.options), reverse=True
        )
        (best, option), (next_best, _) = rated[:2]
        return option if best >= _SIMILAR and best - next_best >= _CLEARLY else None


def answer_of(text: str, words: CaptureLanguage) -> tuple[bool, str] | None:
    """Return the yes or no that a text begins with, and the rest of its words; None without one.

    A yes with more words than its own phrases is none: "okay, but with two T's".
    """
    tokens = words_of(text)
    at = 0
    while at < len(tokens) and (tokens[at],) in words.openings - words.yes - words.no:
        at += 1
    if length := phrase_length_at(tokens, at, words.no):
        return False, " ".join(tokens[at + length :])
    found = False
    while at < len(tokens):
        length = phrase_length_at(tokens, at, words.yes) or phrase_length_at(tokens, at, words.closings)
        if not length:
            return None
        found, at = True, at + length
    return (True, "") if found else None


def _contains(tokens: Sequence[str], wanted: Sequence[str]) -> bool:
    size = len(wanted)
    return bool(size) and any(tuple(tokens[at : at + size]) == tuple(wanted) for at in range(len(tokens)))


def _likeness(tokens: Sequence[str], wanted: Sequence[str]) -> float:
    """Return how similar the option `wanted` is to the run of as many tokens that is most like it, 0 to 1."""
    size, name = len(wanted), " ".join(wanted)
    parts = (" ".join(tokens[at : at + size]) for at in range(max(1, len(tokens) - size + 1)))
    return max(SequenceMatcher(None, part, name).ratio() for part in parts)
