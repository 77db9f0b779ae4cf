"""CTranslate2: small chat models in int8 on any CPU, the light default. No torch, loads in milliseconds.

Each reply runs in a thread; the computing is native code that leaves the interpreter alone. There is no continuous
batching: `parallel` replies run at once, others wait by priority. Two beginnings of a prompt are kept computed: the system
messages, by whoever generates first, and the history up to the caller's newest turn, by `prefill`
while the caller still speaks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from llmcore.chat_template import ChatTemplate
from llmcore.chat_tokens import ChatTokens
from llmcore.ct2_model import Outcome, PrefixKeepingModel
from llmcore.engine import Delta, FinishReason, LlmError, Request, Usage
from llmcore.reply import ReplyParser, forced_opening
from llmcore.slots import Busy, PrioritySlots
from llmcore.stop_strings import StopStrings
from llmcore.tool_calls import MARKUPS, Markup, MarkupName


class CTranslate2Llm:
    """A directory with a converted model, `tokenizer.json` and `tokenizer_config.json` (with a chat template).

    threads: CPU threads of one reply. parallel: replies at once. most_waiting: requests that may wait for their
    turn; beyond that the least urgent is refused with LlmError. context_tokens: prompt and reply together; the
    tokenizer's own limit where that is smaller. kept_tokens: prompt tokens whose computed state is kept (about
    15 kB each for a model of 5 M parameters). tool_markup: how the model writes tool calls.
    """

    def __init__(  # noqa: PLR0913 - one table of the configuration
        self,
        model: str | Path,
        *,
        threads: int = 1,
        parallel: int = 2,
        most_waiting: int = 32,
        compute_type: str = "default",
        context_tokens: int = 4096,
        kept_tokens: int = 16_384,
        tool_markup: MarkupName = "hermes",
    ) -> None:
        self._directory = Path(model)
        self._threads = threads
        self._parallel = parallel
        self._compute_type = compute_type
        self._context_tokens = context_tokens
        self._kept_tokens = kept_tokens
        self._markup = MARKUPS[tool_markup]
        self._slots = PrioritySlots(parallel, most_waiting)
        self._pool: ThreadPoolExecutor | None = None
        self._loaded: _Loaded | None = None
        self._replies: set[_Reply] = set()

    @property
    def running(self) -> int:
        """Replies and prefills that the engine is computing now."""
        return len(self._replies)

    async def start(self) -> None:
        """Load the model. Raises LlmError."""
        self._pool = ThreadPoolExecutor(self._parallel, thread_name_prefix="ctranslate2")
        self._loaded = await asyncio.get_running_loop().run_in_executor(self._pool, self._load)

    async def close(self) -> None:
        """Stop all replies and free the model; a second call does nothing."""
        pool, self._pool, self._loaded = self._pool, None, None
        for reply in self._replies:
            reply.abandon()
        if pool is not None:
            # The model's own threads must have ended before the interpreter may.
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply; closing it stops the computing with the next token. Raises LlmError."""
        reply = await self._begin(request)
        try:
            while (piece := await reply.pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise LlmError(f"{self._directory}: {piece}") from piece
                yield piece
        finally:
            reply.abandon()

    async def prefill(self, request: Request) -> Usage | None:
        """Compute the history before the unfinished user message, which itself is short. Raises LlmError."""
        ...
