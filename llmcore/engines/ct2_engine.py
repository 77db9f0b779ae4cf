"""CTranslate2: small chat models in int8 on any CPU; the light default. No torch, loads in milliseconds.

Each reply runs in a thread; the native code releases the GIL. There is no continuous batching: `max_running`
replies run at once, others wait by priority. Two prefixes of a prompt stay cached: the system messages, by
the first generation, and the history up to the caller's newest turn, by `prefill` while the caller still
speaks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import ctranslate2  # type: ignore[import-untyped]  # ships no types
from tokenizers import Tokenizer

from llmcore.engine import BusyError, Delta, LlmError, Request, SetupError, Usage
from llmcore.engine_load import EngineLoad
from llmcore.engines.ct2_model import PrefixKeepingModel
from llmcore.engines.ct2_reply import Ct2Reply, Reader
from llmcore.engines.token_reply import check_at_least, decoding
from llmcore.serving.slots import Busy, PrioritySlots
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.chat_tokens import ChatTokens, tokens_between_messages
from llmcore.text.message_shapes import ANY_SHAPE, Shapes
from llmcore.text.tool_calls import MarkupName, find_markup

Result = TypeVar("Result")


ComputeType = Literal[
    "default",
    "auto",
    "int8",
    "int8_float32",
    "int8_float16",
    "int8_bfloat16",
    "int16",
    "float16",
    "bfloat16",
    "float32",
]
"""CTranslate2's names. An unsupported one is replaced by the nearest that the machine supports."""


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings of CTranslate2Llm, as documented there."""

    directory: Path
    threads: int
    max_running: int
    compute_type: str
    context_tokens: int
    kept_tokens: int
    markup: MarkupName


class CTranslate2Llm:
    """A converted model in a directory with `tokenizer.json` and `tokenizer_config.json` (with a chat
    template).

    Args:
        model: the directory.
        threads: CPU threads of one reply.
        max_running: replies at once.
        max_waiting: requests that may wait; beyond that the least urgent is refused with BusyError.
        compute_type: precision of the computation.
        context_tokens: prompt and reply together, at most the tokenizer's own limit.
        kept_tokens: prompt tokens whose computed state is cached (about 15 kB each for a model of 5 M
            parameters).
        tool_markup: notation of tool calls by the model.

    Raises:
        ValueError: a setting is out of range.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        threads: int = 1,
        max_running: int = 2,
        max_waiting: int = 32,
        compute_type: ComputeType = "auto",
        context_tokens: int = 4096,
        kept_tokens: int = 8192,
        tool_markup: MarkupName = "hermes",
    ) -> None:
        check_at_least(1, threads=threads, max_running=max_running, context_tokens=context_tokens)
        check_at_least(0, max_waiting=max_waiting, kept_tokens=kept_tokens)
        find_markup(tool_markup)
        self._settings = _Settings(
            Path(model), threads, max_running, compute_type, context_tokens, kept_tokens, tool_markup
        )
        self._slots = PrioritySlots(max_running, max_waiting)
        self._pool: ThreadPoolExecutor | None = None
        self._reader: Reader | None = None
        self._replies: set[Ct2Reply] = set()
        self._computing = 0

    @property
    def running(self) -> int:
        """Replies and prefills in progress."""
        return self._computing

    @property
    def kept_tokens(self) -> int:
        """Prompt tokens in the cache now."""
        return self._reader.model.kept_tokens if self._reader else 0

    @property
    def shapes(self) -> Shapes:
        """Message shapes that the model's template refuses; none before the start."""
        return self._reader.chat.shapes if self._reader else ANY_SHAPE

    def load(self) -> EngineLoad:
        """Return replies and prefills in progress and waiting, and the used share of the cache."""
        limit = self._settings.kept_tokens
        return EngineLoad(self._computing, self._slots.waiting, self.kept_tokens / limit if limit else None)

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Raise the priority of this caller's waiting requests."""
        self._slots.raise_priority(caller, priority)

    async def start(self) -> None:
        """Load the model.

        Raises:
            LlmError: the directory is incomplete or the model cannot be loaded.
        """
        self._reader = await asyncio.to_thread(_load, self._settings)
        self._pool = ThreadPoolExecutor(self._settings.max_running, thread_name_prefix="ctranslate2")

    async def close(self) -> None:
        """Stop all replies and free the model; a second call does nothing."""
        pool, self._pool, self._reader = self._pool, None, None
        for reply in self._replies:
            reply.fail(SetupError(f"{self._settings.directory}: the engine was closed"))
        if pool is not None:
            # the model's own threads must end before the interpreter
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply. Closing the generator stops the computation at the next token.

        Raises:
            BusyError: the queue is full.
            LlmError: the engine failed or is not started.
        """
        clock = asyncio.get_running_loop().time
        asked_s = clock()
        try:
            await self._slots.acquire(request.priority, request.caller)
        # the queue is bounded: a later reply would come too late for its caller
        except Busy:
            raise BusyError(f"{self._settings.directory}: busy, too many requests wait") from None
        queue_s = clock() - asked_s
        reply = Ct2Reply(request, asyncio.get_running_loop())
        self._replies.add(reply)
        try:
            self._compute(reply.run, request.caller)
            while (piece := await reply.next_piece()) is not None:
                yield piece if piece.usage is None else _queued(piece, piece.usage, queue_s)
        finally:
            reply.abandon()
            self._replies.discard(reply)

    async def prefill(self, request: Request) -> Usage | None:
        """Compute the history before the unfinished user message.

        The unfinished message itself is left for `generate`, as a cached state cannot grow. It is read only
        if `asks_end` is set.

        Raises:
            BusyError: the threads are needed for replies.
            LlmError: the engine failed or is not started.
        """
        # one slot stays free for a reply: a prefill cannot be stopped
        if self._slots.free < min(2, self._settings.max_running):
            raise BusyError(f"{self._settings.directory}: busy, no prefill next to so many replies")
        await self._slots.acquire(request.priority)
        return await self._compute(lambda reader: reader.read(request))

    def _compute(self, work: Callable[[Reader], Result], caller: str = "") -> asyncio.Future[Result]:
        """Run `work` in a thread, on a slot already acquired. The slot is released when the thread ends."""
        if self._pool is None or self._reader is None:
            self._slots.release(caller)
            raise SetupError(f"{self._settings.directory}: the engine is not started, or closed")
        loop = asyncio.get_running_loop()
        # changed on the event loop only, so the counter needs no lock
        self._computing += 1
        # A cancelled wait ends before the thread does; the thread's end counts.
        future = self._pool.submit(work, self._reader)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._on_computed, caller))
        return asyncio.wrap_future(future)

    def _on_computed(self, caller: str) -> None:
        self._computing -= 1
        self._slots.release(caller)


def _queued(last: Delta, usage: Usage, queue_s: float) -> Delta:
    return replace(last, usage=replace(usage, queue_s=queue_s))


def _load(settings: _Settings) -> Reader:
    directory = settings.directory
    for name in ("model.bin", "tokenizer.json", "tokenizer_config.json"):
        if not (directory / name).is_file():
            raise LlmError(f"{directory}: there is no {name}: not a converted model with its tokenizer")
    template = ChatTemplate.from_directory(directory)
    try:
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        config = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
        end = template.special_tokens["eos_token"]
        tokens = [tokenizer.id_to_token(index) or "" for index in range(tokenizer.get_vocab_size())]
        model = PrefixKeepingModel(
            lambda: _generator(settings), tokens, [tokens.index(end)], settings.kept_tokens
        )
    except Exception as error:  # ctranslate2 and tokenizers raise bare RuntimeError and Exception
        raise LlmError(f"{directory}: cannot load the model: {error}") from error
    # the configuration may lower the model's limit, not raise it
    context_tokens = min(
        settings.context_tokens, int(config.get("model_max_length", settings.context_tokens))
    )
    special = tokens_between_messages(tokenizer.get_added_tokens_decoder(), template)

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    chat = ChatTokens(
        template,
        encode,
        context_tokens,
        special,
        template.learn_shapes(),
        tokenizer.get_vocab(),
        decoding(tokenizer),
    )
    return Reader(model, tokenizer, chat, find_markup(settings.markup), tokens.index(end))


def _generator(settings: _Settings) -> ctranslate2.Generator:
    return ctranslate2.Generator(
        str(settings.directory),
        device="cpu",
        compute_type=settings.compute_type,
        inter_threads=settings.max_running,
        intra_threads=settings.threads,
    )
