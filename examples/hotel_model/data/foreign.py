"""Instructions and tools of other agents, under which the model answers as usual."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random

_SHORT = 0.12
_NAMED = 0.3


def foreign_instructions(rng: Random, sentences: Sequence[str] = ()) -> str:
    """Return another agent's system prompt. sentences: some prompts include a few of them, as noise."""
    parts = _parts()
    if rng.random() < _SHORT:
        return rng.choice(parts["short"])
    role = rng.choice(parts["roles"])
    opening = rng.choice(
        (
            "You are {}.",
            "You are {}.",
            "You're {}.",
            "Act as {}.",
            "You play {}.",
            "Pretend to be {}.",
            "Your role: {}.",
            "I want you to be {}.",
        )
    )
    text = [opening.format(role)]
    if rng.random() < _NAMED:
        text.append(rng.choice(("Your name is {}.", "You are called {}.")).format(rng.choice(parts["names"])))
    text += rng.sample(parts["manners"], rng.choice((0, 1, 1, 2, 3)))
    text += rng.sample(parts["facts"], rng.choice((0, 0, 1, 2, 3)))
    if sentences and rng.random() < 0.3:
        text += rng.choices(sentences, k=rng.randint(1, 3))
    if rng.random() < 0.2:
        rng.shuffle(text)
    return " ".join(text)


def foreign_tools(rng: Random) -> list[str]:
    """Return names of tools that the model does not call."""
    return rng.sample(_parts()["tools"], rng.randint(1, 4))


@cache
def _parts() -> Mapping[str, list[str]]:
    return tomllib.loads((files(__package__) / "intents" / "foreign.toml").read_text())
