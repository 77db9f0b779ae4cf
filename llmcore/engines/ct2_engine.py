"""CTranslate2: small chat models in int8 on any CPU, the light default. No torch, loads in milliseconds.

Each reply runs in a thread; the computing is native code that leaves the interpreter alone. There is no
continuous batching: `max_running` replies run at once, others wait by priority. Two beginnings of a prompt
are kept computed: the system messages, by whoever generates first, and the history up to the caller's
newest turn, by `prefill` while the caller still speaks.
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

from llmcore.engine import BusyError, Delta, EngineLoad, LlmError, Request, SetupError, Usage
from llmcore.engines.ct2_model import PrefixKeepingModel
from llmcore.engines.ct2_reply import Ct2Reply, Reader
from llmcore.engines.token_reply import decoding
from llmcore.serving.slots import Busy, PrioritySlots
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.chat_tokens import ChatTokens, tokens_between_messages
from llmcore.text.message_shapes import ANY, Shapes
from llmcore.text.tool_calls import MARKUPS, MarkupName

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
"""CTranslate2's names; one that the machine does not have is replaced by the nearest that it has."""


@dataclass(frozen=True, slots=True)
class _Settings:
    """The table of the configuration, as CTranslate2Llm documents it."""

    directory: Path
    threads: int
    max_running: int
    compute_type: str
    context_tokens: int
    kept_tokens: int
    markup: MarkupName


class CTranslate2Llm:
    """A directory with a converted model, `tokenizer.json` and `tokenizer_config.json` (with a chat
    template).

    threads: CPU threads of one reply. max_running: replies at once. max_waiting: requests that may wait for
    their turn; beyond that the least urgent is refused with LlmError. context_tokens: prompt and reply
    together; the tokenizer's own limit where that is smaller. kept_tokens: prompt tokens whose computed state
    is kept (about 15 kB each for a model of 5 M parameters). tool_markup: how the model writes tool calls.
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
        for name, value, smallest in (
            ("threads", threads, 1),
            ("max_running", max_running, 1),
            ("max_waiting", max_waiting, 0),
            ("context_tokens", context_tokens, 1),
            ("kept_tokens", kept_tokens, 0),
        ):
            if value < smallest:
                raise ValueError(f"{name} is {value}, at least {smallest} is allowed")
        if tool_markup not in MARKUPS:
            raise ValueError(f"tool_markup is {tool_markup!r}, allowed are: {', '.join(MARKUPS)}")
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
        """Replies and prefills that the engine is computing now."""
        return self._computing

    @property
    def kept_tokens(self) -> int:
        """Prompt tokens whose computed state is kept now."""
        return self._reader.model.kept_tokens if self._reader else 0

    @property
    def shapes(self) -> Shapes:
        """Message shapes that the model's template refuses; none before the start."""
        return self._reader.chat.shapes if self._reader else ANY

    def load(self) -> EngineLoad:
        """Replies and prefills computed and waiting, and the part of `kept_tokens` that is used."""
        most = self._settings.kept_tokens
        return EngineLoad(self._computing, self._slots.waiting, self.kept_tokens / most if most else None)

    def hurry(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Let what this caller waits for go before the others."""
        self._slots.hurry(caller, priority)

    async def start(self) -> None:
        """Load the model. Raises LlmError."""
        self._reader = await asyncio.to_thread(_load, self._settings)
        self._pool = ThreadPoolExecutor(self._settings.max_running, thread_name_prefix="ctranslate2")

    async def close(self) -> None:
        """Stop all replies and free the model; a second call does nothing."""
        pool, self._pool, self._reader = self._pool, None, None
        for reply in self._replies:
            reply.fail(SetupError(f"{self._settings.directory}: the engine was closed"))
        if pool is not None:
            # The model's own threads must have ended before the interpreter may.
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply; closing it stops the computing at the next token. Raises LlmError."""
        clock = asyncio.get_running_loop().time
        asked_s = clock()
        try:
            await self._slots.acquire(request.priority, request.caller)
        # the queue is bounded: beyond it an answer would come long after anybody waits for it
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

        The words of the unfinished message are left for `generate`, as a kept state cannot grow: they are
        read only where it is asked whether the message ends with them. Raises BusyError when real replies
        need the threads, else LlmError.
        """
        # one slot stays for a reply: a prefill cannot be stopped before its end
        if self._slots.free < min(2, self._settings.max_running):
            raise BusyError(f"{self._settings.directory}: busy, nothing is read ahead beside so many replies")
        await self._slots.acquire(request.priority)
        return await self._compute(lambda reader: reader.read(request))

    def _compute(self, work: Callable[[Reader], Result], caller: str = "") -> asyncio.Future[Result]:
        """Run `work` in a thread, on a slot that is already taken; the slot is free when it really ends."""
        if self._pool is None or self._reader is None:
            self._slots.release(caller)
            raise SetupError(f"{self._settings.directory}: the engine is not started, or closed")
        loop = asyncio.get_running_loop()
        # on the event loop, as `_computed` is: the counter needs no lock
        self._computing += 1
        # A cancelled wait ends before the thread does: the thread's own end counts.
        future = self._pool.submit(work, self._reader)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._computed, caller))
        return asyncio.wrap_future(future)

    def _computed(self, caller: str) -> None:
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
    # the configuration may ask for less than the model can, never for more
    longest = min(settings.context_tokens, int(config.get("model_max_length", settings.context_tokens)))
    special = tokens_between_messages(tokenizer.get_added_tokens_decoder(), template)

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    chat = ChatTokens(
        template,
        encode,
        longest,
        special,
        template.learn_shapes(),
        tokenizer.get_vocab(),
        decoding(tokenizer),
    )
    return Reader(model, tokenizer, chat, MARKUPS[settings.markup], tokens.index(end))


def _generator(settings: _Settings) -> ctranslate2.Generator:
    return ctranslate2.Generator(
        str(settings.directory),
        device="cpu",
        compute_type=settings.compute_type,
        inter_threads=settings.max_running,
        intra_threads=settings.threads,
    )
