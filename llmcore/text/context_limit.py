"""The longest prompt that a server takes, learned from its refusals.

Servers count tokens of a tokenizer that is unknown here, and not all say how many are too many, so the limit
is counted in characters and halved with each refusal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from llmcore.engine import Message, Request
from llmcore.text.prompt import PromptTooLong, fit_to_budget, split_turns


class ContextLimit:
    """Limit of one server's prompts. characters: of all messages; None until a prompt was refused."""

    def __init__(self) -> None:
        self.characters: int | None = None

    def fit(self, request: Request) -> Request:
        """Return the request without its oldest turns, as far as the limit requires.

        System messages at the beginning and the newest turn always stay.
        """
        if self.characters is None:
            return request
        try:
            messages = fit_to_budget(request.messages, self.characters, _length)
        except PromptTooLong:
            static, turns = split_turns(request.messages)
            messages = (*static, *turns[-1])
        return replace(request, messages=messages)

    def shorten(self, refused: Request) -> Request | None:
        """Lower the limit to half the characters of a prompt that was refused for its length.

        Return the shorter request, or None if no turn can be left out: the limit stays as it was then.
        """
        before, self.characters = self.characters, _length(refused.messages) // 2
        shorter = self.fit(refused)
        if len(shorter.messages) < len(refused.messages):
            return shorter
        self.characters = before
        return None


def _length(messages: Iterable[Message]) -> int:
    return sum(
        len(message.content) + sum(len(call.arguments) for call in message.tool_calls) for message in messages
    )
