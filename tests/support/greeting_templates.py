"""Greetings made of `greeting_templates.tsv`, to learn the weights of `greeting_odds` from.

In a template, one of `{these|words}` is chosen, and a name in capitals stands for one of its row's words.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import cast, get_args

from greetings import Row

from voiceagent.session.agent import AnsweredBy

FILE = Path(__file__).with_name("greeting_templates.tsv")
_CHOICE = re.compile(r"\{([^{}]*)\}")
_WORDS_A_SECOND = 2.7
_KINDS: tuple[str, ...] = get_args(AnsweredBy)


def made(each: int, seed: int = 1) -> list[Row]:
    """Return up to `each` different greetings of each template, with their lengths in seconds."""
    rows = [line.split("\t") for line in FILE.read_text().splitlines()[1:]]
    named = {name: words.split("|") for name, words in rows if name not in _KINDS}
    chance = random.Random(seed)
    return [
        (cast("AnsweredBy", kind), round(len(words.split()) / _WORDS_A_SECOND, 1), words)
        for kind, template in rows
        if kind in _KINDS
        for words in dict.fromkeys(_greeting(template, named, chance) for _ in range(each))
    ]


def _greeting(template: str, named: dict[str, list[str]], chance: random.Random) -> str:
    """Return one greeting of a template, as a sentence."""
    text = template
    while found := _CHOICE.search(text):
        text = text[: found.start()] + chance.choice(found[1].split("|")) + text[found.end() :]
    text = re.sub(rf"\b({'|'.join(named)})\b", lambda name: chance.choice(named[name[1]]), text)
    text = re.sub(r" ([.,?])", r"\1", " ".join(text.split()))
    text = re.sub(r"[.,?]*([.?])[.,?]*$", r"\1", re.sub(r"([.?]),|,(?=[.?])", r"\1", text)).strip(" ,")
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
