"""Length limit of a call's history: which turns a summary replaces, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmcore.engine import Message, Usage

USUAL_TOKENS_PER_CHARACTER = 0.25
"""English average, used until the model's own count is known."""
MIN_TOKENS_PER_CHARACTER = 0.1
"""Less is no count of the whole prompt: some servers leave out the tokens that were cached."""


@dataclass(frozen=True, slots=True)
class HistoryBudget:
    """Tokens that the history may take in a prompt, without the system prompt and the tools.

    max_tokens: beyond it the oldest turns are replaced, until the rest takes `kept_tokens`. Few large
    replacements, as each one changes the prefix that prompts share. tool_output_tokens: longer tool outputs
    are cut to their relevant passages. 0 for no limit.
    """

    max_tokens: int = 0
    kept_tokens: int = 0
    tool_output_tokens: int = 0


def turns_to_replace(turn_tokens: Sequence[int], other_tokens: int, budget: HistoryBudget) -> int:
    """Return how many of the oldest turns to replace; 0 within the budget.

    turn_tokens: of each turn, oldest first; the newest always stays. other_tokens: of the earlier summary.
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
    """Tokens of a text by its characters, calibrated with the engine's count of the call's latest prompt."""

    def __init__(self) -> None:
        self.per_character = USUAL_TOKENS_PER_CHARACTER

    def observe(self, messages: Sequence[Message], usage: Usage) -> None:
        """Calibrate with the token count of a prompt, if the engine reported it."""
        if usage.prompt_tokens and (count := characters(messages)):
            self.per_character = max(usage.prompt_tokens / count, MIN_TOKENS_PER_CHARACTER)

    def tokens(self, messages: Sequence[Message]) -> int:
        return round(characters(messages) * self.per_character)


def characters(messages: Sequence[Message]) -> int:
    """Return the total characters of the messages, arguments of tool calls included."""
    return sum(
        len(message.content) + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
        for message in messages
    )
