"""A replica of known speed, so that a cluster's performance can be compared with the possible one.

A token is a word. It reads one prompt after the other, from the first message that it has not kept on, while
its answers pause; it writes for all at once, and keeps the messages that were asked for last.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator

from llmcore.engine import Delta, Message, Request, Usage

WORD = "well\n"
"""A line: it goes to the caller at once, where a sentence would be waited for."""


class KnownLlm:
    """prefill_tokens_s: that it reads. token_s: of each token of an answer. cache_tokens: that it keeps."""

    def __init__(self, prefill_tokens_s: float, token_s: float, cache_tokens: int) -> None:
        self._prefill_tokens_s, self._token_s = prefill_tokens_s, token_s
        self._cache_tokens = cache_tokens
        self._kept: OrderedDict[int, int] = OrderedDict()
        self._free_s = self._reading_s = 0.0

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Words, as many as were asked for."""
        prompt, cached = await self._read(request.messages)
        # the first comes of the reading itself, as in vLLM: it never stands still
        await asyncio.sleep(self._token_s)
        yield Delta(WORD)
        began_s, stood_s = _now_s(), self._stood_still_s()
        for index in range(1, request.max_tokens):
            await self._until(began_s + index * self._token_s - stood_s)
            yield Delta(WORD)
        yield Delta(finish_reason="length", usage=Usage(prompt, cached, request.max_tokens))

    async def prefill(self, request: Request) -> Usage:
        """Read it."""
        return Usage(*await self._read(request.messages))

    async def _read(self, messages: tuple[Message, ...]) -> tuple[int, int]:
        """The tokens of a prompt, and those of them that were kept; returns when it has been read."""
        mark, marks = 0, list[tuple[int, int]]()
        for message in messages:
            mark = hash((mark, message.role, message.content))
            marks.append((mark, len(message.content.split())))
        cached = 0
        for mark, tokens in marks:
            if mark not in self._kept:
                break
            cached += tokens
        prompt = sum(tokens for _, tokens in marks)
        took_s = (prompt - cached) / self._prefill_tokens_s
        self._free_s = max(self._free_s, _now_s()) + took_s
        self._reading_s += took_s
        # the end first, so that it is given up before the beginning
        for mark, tokens in reversed(marks):
            self._kept[mark] = tokens
            self._kept.move_to_end(mark)
        while sum(self._kept.values()) > self._cache_tokens:
            self._kept.popitem(last=False)
        await asyncio.sleep(self._free_s - _now_s())
        return prompt, cached

    async def _until(self, due_s: float) -> None:
        """Return that time plus the prompt time until then, since answers pause meanwhile."""
        left_s = due_s + self._stood_still_s() - _now_s()
        while left_s > 0:
            await asyncio.sleep(left_s)
            left_s = due_s + self._stood_still_s() - _now_s()

    def _stood_still_s(self) -> float:
        """Return the time spent on prompts so far, in seconds."""
        return self._reading_s - max(0.0, self._free_s - _now_s())


def _now_s() -> float:
    return asyncio.get_running_loop().time()
