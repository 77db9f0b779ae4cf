"""Reference work for the gate's times: a small CTranslate2 model reads and writes.

It bypasses the agent's engines and queues: if those get slower, only the agent's times grow. On a slower
machine, or a busy one, both grow.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import ctranslate2  # type: ignore[import-untyped]  # ships no types
from tokenizers import Tokenizer

from voiceagent.validation.errors import CommandFailed

CACHED_TOKENS, READ_TOKENS, WRITTEN_TOKENS = 1000, 40, 16
"""Tokens of a piece of work: a cached system prompt, a question, and a response."""
THREADS = 2
"""Concurrent pieces; others are queued."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of work.

    stamps: monotonic seconds of its start, and of each token. stretch: wall time of the writing divided by
    its CPU time; little more than 1 on an idle machine.
    """

    stamps: list[float]
    stretch: float


class Reference:
    """Runs pieces of work with the CTranslate2 model in a folder, which also has its `tokenizer.json`."""

    def __init__(self, model: Path) -> None:
        self._model = model
        self._tokens: list[str] = []
        self._generator: ctranslate2.Generator | None = None
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="reference")

    async def start(self) -> None:
        """Load the model. Raises CommandFailed."""
        try:
            self._generator, self._tokens = await asyncio.to_thread(self._load)
        except Exception as error:  # ctranslate2 and tokenizers raise bare RuntimeError and Exception
            raise CommandFailed(f"{self._model}: cannot load the reference: {error}") from error
        await self.work()

    async def close(self) -> None:
        """Release the model after the work in progress."""
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        self._generator = None

    async def work(self, tokens: int = WRITTEN_TOKENS) -> Piece:
        """Do a piece of work that writes `tokens` tokens."""
        loop, stamps = asyncio.get_running_loop(), [time.monotonic()]
        computed: list[tuple[float, float]] = []

        def take(_: ctranslate2.GenerationStepResult) -> bool:
            computed.append((time.monotonic(), time.thread_time()))
            loop.call_soon_threadsafe(lambda: stamps.append(time.monotonic()))
            return False

        await loop.run_in_executor(self._pool, partial(self._compute, take, tokens))
        (began_s, began_cpu_s), (ended_s, ended_cpu_s) = computed[0], computed[-1]
        return Piece(stamps, (ended_s - began_s) / max(ended_cpu_s - began_cpu_s, 1e-6))

    def _load(self) -> tuple[ctranslate2.Generator, list[str]]:
        tokenizer = Tokenizer.from_file(str(self._model / "tokenizer.json"))
        count = CACHED_TOKENS + READ_TOKENS
        size = tokenizer.get_vocab_size()
        tokens = [tokenizer.id_to_token(size // 2 + index % (size // 2)) or "" for index in range(count)]
        options = {"compute_type": "int8", "inter_threads": THREADS, "intra_threads": 1}
        return ctranslate2.Generator(str(self._model), **options), tokens

    def _compute(self, take: object, tokens: int) -> None:
        assert self._generator is not None
        self._generator.generate_batch(
            [self._tokens[CACHED_TOKENS:]],
            static_prompt=self._tokens[:CACHED_TOKENS],
            cache_static_prompt=True,
            include_prompt_in_result=False,
            min_length=tokens,
            max_length=tokens,
            sampling_topk=1,
            callback=take,
        )
