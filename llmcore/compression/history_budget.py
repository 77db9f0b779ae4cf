"""When the history of a call is too long, and which of its turns a summary replaces. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmcore.engine import Message, Usage

USUAL_TOKENS_PER_CHARACTER = 0.25
"""Tokens per character of English, used until the model's own count is known."""


@dataclass(frozen=True, slots=True)
class HistoryBudget:
    """Tokens that the history may take in a prompt; the system prompt and the tools are not counted.

    max_tokens: beyond that the oldest turns are replaced, so many at once that the rest takes `kept_tokens`:
    a few large replacements, between which prompts share their beginning. tool_output_tokens: a longer output
    of a tool is cut to its relevant passages. 0 for no limit.
    """

    max_tokens: int = 0
    kept_tokens: int = 0
    tool_output_tokens: int = 0


def turns_to_replace(turn_tokens: Sequence[int], other_tokens: int, budget: HistoryBudget) -> int:
    """How many of the oldest turns have to go, 0 while the history is within its budget.

    turn_tokens: each turn's, oldest first; the newest always stays. other_tokens: what the summary of still
    older ones takes.
    """
    left = sum(turn_tokens)
    if budget.max_tokens == 0 or left + other_tokens <= budget.max_tokens:
        return 0
    replaced = 0
    while replaced < len(turn_tokens) - 1 and left > budget.kept_tokens:
        left -= turn_tokens[replaced]
        replaced += 1
    return replaced


class TokenEstimate:
    """Tokens of a text from its characters, by what the engine counted in the call's latest prompt."""

    def __init__(self) -> None:
        self.per_character = USUAL_TOKENS_PER_CHARACTER

    def observe(self, messages: Sequence[Message], usage: Usage) -> None:
        """Take in how many tokens a prompt had; an engine that does not report teaches nothing."""
        if usage.prompt_tokens and (count := characters(messages)):
            self.per_character = usage.prompt_tokens / count

    def tokens(self, messages: Sequence[Message]) -> int:
        """About how many tokens these messages take."""
        return round(characters(messages) * self.per_character)


def characters(messages: Sequence[Message]) -> int:
    """The length of all that messages say, arguments of tool calls included."""
    return sum(
        len(message.content) + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
        for message in messages
    )
