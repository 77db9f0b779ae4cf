"""Templates of what callers say: choices, lexicon entries and slots, expanded at random.

`(a|b|)` is a choice, choices may nest; `<name>` is any entry of the lexicon; `[slot]` is the value
given for it. `expand` draws one text, `pattern` gives the regular expression of all of them, which
proves that no evaluation question can come out of a training template.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

_CHOICE = re.compile(r"\(([^()]*)\)")
_NAME = re.compile(r"<(\w+)>")
_SLOT = re.compile(r"\[(\w+)\]")
_TOKEN = re.compile(r"[()|]|<\w+>|\[\w+\]|[^()|<\[]+")


def expand(
    template: str,
    rng: Random,
    lexicon: Mapping[str, Sequence[str]],
    slots: Mapping[str, str] | None = None,
) -> str:
    """One text of `template`, its spaces collapsed. Raises KeyError for an unknown name or slot."""
    text = _NAME.sub(lambda match: rng.choice(lexicon[match[1]]), template)
    while choice := _CHOICE.search(text):
        text = text[: choice.start()] + rng.choice(choice[1].split("|")) + text[choice.end() :]
    text = _SLOT.sub(lambda match: (slots or {})[match[1]], text)
    return " ".join(text.split())


def slots_of(template: str) -> frozenset[str]:
    """The names of the slots in `template`."""
    return frozenset(_SLOT.findall(template))


def pattern(
    template: str, lexicon: Mapping[str, Sequence[str]], slots: Mapping[str, Sequence[str]]
) -> re.Pattern[str]:
    """An expression that matches every text of `template` whole; a space matches any run of them."""

    def piece(token: str) -> str:
        if token in "()|":
            return {"(": "(?:", ")": ")", "|": "|"}[token]
        if token[0] in "<[":
            values = (lexicon if token[0] == "<" else slots)[token[1:-1]]
            return "(?:" + "|".join(re.escape(value) for value in values) + ")"
        return r"\ *".join(re.escape(part) for part in token.split(" "))

    return re.compile(r"\ *" + "".join(map(piece, _TOKEN.findall(template))) + r"\ *")
