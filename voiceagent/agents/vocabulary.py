"""Words and names that an agent's callers are likely to say: those of its tools and instructions.

A recognizer that favours them hears what a new agent is about ("checkup") without a list of phrases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from llmcore.engine import Tool

MAX_WORDS = 2_000
"""Maximum size of a vocabulary: a prompt with a whole catalogue must not slow down every decoding."""
MIN_LETTERS = 4
"""Minimum length of a word: shorter ones are common, or sound like parts of others."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][a-z]+(?: [A-Z][a-z]+)+", re.MULTILINE)
_CHOICES = ("enum", "const", "examples", "default")


def vocabulary(instructions: str, tools: Iterable[Tool]) -> tuple[str, ...]:
    """Return the words, choices and names of an agent, without repetitions.

    Choices of tool parameters come first, then names of several words, then single words.
    """
    tools = tuple(tools)
    choices = [_spoken(choice) for tool in tools for choice in _choices(tool.parameters)]
    texts = (instructions, *(tool.description for tool in tools), *(_spoken(tool.name) for tool in tools))
    names = [name for text in texts for name in _NAME.findall(text)]
    words = [word for text in (*choices, *texts) for word in _WORD.findall(text) if len(word) >= MIN_LETTERS]
    found = dict.fromkeys(one for one in (*choices, *names, *words) if _WORD.search(one))
    return tuple(found)[:MAX_WORDS]


def _choices(schema: Any) -> Iterator[str]:
    """Yield the texts that a JSON schema names as values."""
    if isinstance(schema, list):
        for item in schema:
            yield from _choices(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key not in _CHOICES:
                yield from _choices(value)
                continue
            values = value if isinstance(value, list) else [value]
            yield from (one for one in values if isinstance(one, str))


def _spoken(identifier: str) -> str:
    """Return the words of an identifier: "oat_milk" is "oat milk"."""
    return identifier.replace("_", " ").strip()
