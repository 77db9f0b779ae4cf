"""Model routing: the small model answers simple turns, the large one the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from llmcore.engine import Request
from llmcore.policies.learned_routing import LearnedRouter

Route = Literal["large", "small"]


@dataclass(frozen=True, slots=True)
class Rules:
    """Conditions for the small model.

    patterns: a match in the last turn means that it is simple. learned: an alternative to the patterns.
    max_characters: of the last turn. max_context_characters: of the whole prompt. tools: True if the small
    model may be offered tools.
    """

    patterns: tuple[re.Pattern[str], ...]
    max_characters: int
    max_context_characters: int
    tools: bool
    learned: LearnedRouter | None = None


def route(request: Request, rules: Rules, overloaded: bool) -> Route:
    """Choose the model for a request. overloaded: the server is overloaded, so a turn need not be simple."""
    last = next((message for message in reversed(request.messages) if message.role == "user"), None)
    # when in doubt the large model: a wrong answer costs more than a slow one
    if last is None or len(last.content) > rules.max_characters:
        return "large"
    if request.tools and not rules.tools:
        return "large"
    if sum(len(message.content) for message in request.messages) > rules.max_context_characters:
        return "large"
    simple = overloaded or any(pattern.search(last.content) for pattern in rules.patterns)
    simple = simple or (rules.learned is not None and rules.learned.is_simple(request.messages))
    return "small" if simple else "large"
