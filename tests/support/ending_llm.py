"""An LLM that knows whether its caller's message is over, as well as the test wants."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path

from voiceagent.conversation.end_of_turn import probability
from voiceagent.conversation.end_of_turn.llm_end import bare
from voiceagent.engines.own import Delta, LlmEngine, Request, Usage

TURNS = Path(probability.__file__).parent / "turns.jsonl"


class EndingLlm(LlmEngine):
    """Knows the turns of `turns.jsonl`. knows: nats between its scores for an end and for a pause;
    None: no score.
    """

    def __init__(self, model: str = "knowing", knows: float | None = None) -> None:
        lines = TURNS.read_text("utf-8").splitlines()
        self._whole = {bare(" ".join(json.loads(line)["parts"])) for line in lines}
        self._knows = knows

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """A short answer."""
        yield Delta("Yes.", finish_reason="stop", usage=Usage())

    async def prefill(self, request: Request) -> Usage | None:
        """Score the end, with some noise."""
        words = request.messages[-1].content
        if self._knows is None or not request.asks_end:
            return Usage()
        chance = zlib.crc32(words.encode()) % 1000 / 500 - 1
        odds = -5 + chance + (self._knows if words in self._whole else -self._knows) / 2
        return Usage(end_log_probability=-math.log1p(math.exp(-odds)))
