"""Conversations of a folder of material, replayed by callers of an LLM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from voiceagent.bench.material import Conversation, shuffled

CHARACTERS_A_TOKEN = 4.2
"""Characters per token of plain spoken English with the demo's tokenizer; others come near it."""


class Replay:
    """Conversations of a folder of material, in an order given by a seed."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._conversations = conversations

    def callers(self, seed: int) -> Iterator[Iterator[str]]:
        """Yield the callers' sides of the conversations, without end."""
        for conversation in shuffled(self._conversations, Random(seed)):
            yield iter(conversation.questions)

    def text(self, tokens: int, random: Random) -> str:
        """Return about `tokens` tokens of conversation, unique from its first word."""
        text, characters = [f"{random.randrange(10**6)}:"], 0
        for conversation in shuffled(self._conversations, random):
            for message in conversation.messages:
                text.append(message.content)
                characters += len(text[-1]) + 1
            if characters >= tokens * CHARACTERS_A_TOKEN:
                break
        return " ".join(text)[: round(tokens * CHARACTERS_A_TOKEN)]
