"""A fixed piece of work in which the gate counts times: a small model of CTranslate2 reads and writes.

It does not go through the agent's engines and queues: where these get slower, only the agent's times grow.
Where the machine is slower, because it is another one or has other work, both grow.
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
"""Tokens of one piece of work: a system prompt that is computed already, a question, and a response."""
THREADS = 2
"""Pieces done at once; more wait in the order of their arrival."""


@dataclass(frozen=True, slots=True)
class Piece:
    """stamps: monotonic seconds when it began, and of each token. stretch: how many times its processor time
    the writing took; little more than 1 where no other work has the processor."""

    stamps: list[float]
    stretch: float


class Reference:
    """Does pieces of work with the model in a folder, of CTranslate2's format with its `tokenizer.json`."""

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
        """Free the model, when its work is done."""
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        self._generator = None

    async def work(self, tokens: int = WRITTEN_TOKENS) -> Piece:
        """Do a piece, with so many tokens written."""
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
