"""Simulated recognition errors in callers' words: substitutions, deletions, insertions, swaps."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from random import Random

_FILLERS = ("um", "uh", "the", "a", "and", "er", "well", "like", "so", "to")
# Words a recognizer drops because they are short and unstressed.
_WEAK = frozenset((
    "a", "an", "the", "is", "are", "do", "does", "to", "of", "in", "at", "it", "i", "you", "and", "for",
    "can", "my", "me", "be", "on", "have", "what", "your", "we", "that",
))  # fmt: skip


@cache
def _sound_alikes() -> dict[str, tuple[str, ...]]:
    text = (files(__package__) / "intents" / "sound_alikes.toml").read_text()
    return {word: tuple(others) for word, others in tomllib.loads(text)["sound_alikes"].items()}


def misheard(text: str, rng: Random) -> str:
    """Return `text` (lower-case words) with one or two errors; a single word is unchanged."""
    words = text.split()
    for _ in range(1 if len(words) < 5 or rng.random() < 0.7 else 2):
        words = _one_error(words, rng)
    return " ".join(words)


def _one_error(words: list[str], rng: Random) -> list[str]:
    if len(words) < 2:
        return words
    alikes = _sound_alikes()
    audible = [i for i, word in enumerate(words) if word in alikes]
    kind = rng.random()
    if kind < 0.55 and audible:
        i = rng.choice(audible)
        return [*words[:i], *rng.choice(alikes[words[i]]).split(), *words[i + 1 :]]
    weak = [i for i, word in enumerate(words) if word in _WEAK]
    if kind < 0.75 and weak and len(words) > 2:
        i = rng.choice(weak)
        return words[:i] + words[i + 1 :]
    if kind < 0.92 or len(words) < 4:
        i = rng.randrange(len(words) + 1)
        return [*words[:i], rng.choice(_FILLERS), *words[i:]]
    i = rng.randrange(len(words) - 1)
    return [*words[:i], words[i + 1], words[i], *words[i + 2 :]]
