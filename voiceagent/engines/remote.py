"""The engines at both ends of a connection: the supervisor serves its own, a call worker asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, RecognizerError
from audio.synthesizers import Speech, SynthesizerError, speak_at
from llmcore.engine import (
    BusyError,
    Delta,
    LimitError,
    LlmError,
    RefusedError,
    ReplyError,
    Request,
    RequestError,
    ServerError,
    SetupError,
    SupportsHurry,
    Usage,
)
from voiceagent.conversation.fragments import Fragmenter
from voiceagent.engines.engines import Engines
from voiceagent.processes.messages import RpcError, Windows
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import Service, Unhurried
from voiceagent.text_normalization import Alignment

ENGINE_ERRORS = (
    *(RecognizerError, SynthesizerError, LlmError, RequestError, LimitError, BusyError),
    *(RefusedError, ReplyError, ServerError, SetupError),
)
"""What engines raise, and workers see as it is."""


JOINED_SAMPLES = SAMPLE_RATE_HZ * 3 // 32
"""Sound that goes to the recognizer at once, three windows of the front end: a message for each of them costs
more than all else that a worker does with it. A recognizer that looks for words does so less often."""
HURRIED_FRAGMENTS = 2
"""How many fragments of a response go on without delay: the caller waits for the first, which may be one
word, and is listening to it when the second must be there. What follows has time, and a message for each
delta would wake both processes."""


HELD_WINDOWS = Windows(here=1 << 10)
"""The window of a preemptive response. The session holds such a response by reading no more of it
(`turn.preemptive_tokens`), and the LLM learns of that once this many bytes are unread: a dozen deltas. In a
usual window all of a response would find room.
"""


def engine_services(engines: Engines, language: str) -> Mapping[str, Service]:
    """What workers may ask of the engines. language: that agents speak."""

    def recognize(_: None, sound: AsyncGenerator[Any, None]) -> AsyncGenerator[Hypothesis, None]:
        return engines.recognizer.recognize(sound)

    def generate(request: Request, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        return hurried_at_first(engines.llm.generate(request), cutting(language))

    async def prefill(request: Request, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Usage | None, None]:
        yield await engines.llm.prefill(request)

    async def hurry(asked: tuple[str, float], _: AsyncGenerator[Any, None]) -> AsyncGenerator[None, None]:
        if isinstance(engines.llm, SupportsHurry):
            engines.llm.hurry(*asked)
        yield None

    def speak(asked: tuple[str, float], _: AsyncGenerator[Any, None]) -> AsyncGenerator[Speech, None]:
        return speak_at(engines.synthesizer, *asked)

    return {
        "recognize": recognize,
        "generate": generate,
        "prefill": prefill,
        "hurry": hurry,
        "speak": speak,
    }


class RemoteRecognizer:
    """The supervisor's recognizer."""

    def __init__(self, supervisor: RpcConnection) -> None:
        self._supervisor = supervisor

    async def start(self) -> None:
        """The supervisor starts it."""

    async def close(self) -> None:
        """The supervisor closes it."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        with _raising(RecognizerError):
            async with aclosing(
                self._supervisor.stream("recognize", items=joined(sound), patient=_is_sound)
            ) as hypotheses:
                async for hypothesis in hypotheses:
                    yield hypothesis


async def joined(sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Samples | Flush, None]:
    """`sound` in chunks of `JOINED_SAMPLES` or more, and what is left where a flush asks for the words."""
    waiting: list[Samples] = []
    async for item in sound:
        if not isinstance(item, Flush):
            waiting.append(item)
            if sum(map(len, waiting)) < JOINED_SAMPLES:
                continue
        if waiting:
            yield np.concatenate(waiting)
            waiting.clear()
        if isinstance(item, Flush):
            yield item
    if waiting:
        yield np.concatenate(waiting)


def cutting(language: str) -> Fragmenter:
    """Cuts as the workers' fragmenters do, and leaves it to them to make spoken text of it."""
    return Fragmenter(language, normalize=_as_written)


def _as_written(text: str, *_: str) -> tuple[str, Alignment]:
    return (text if any(map(str.isalnum, text)) else ""), ()


async def hurried_at_first(
    deltas: AsyncGenerator[Delta, None], fragmenter: Fragmenter
) -> AsyncGenerator[Delta | Unhurried, None]:
    """Yield `deltas`; low-priority ones as `Unhurried`.

    High priority: the first delta, the first words after thoughts, each delta that ends a fragment, tool
    calls, and the end of the response. Each takes along the deltas before it. `fragmenter` must be new; it
    finds the fragments as the worker does.
    """
    first, worded, awaited = True, False, HURRIED_FRAGMENTS
    async with aclosing(deltas):
        async for delta in deltas:
            ended = len(fragmenter.push(delta.text)) if awaited > 0 else 0
            awaited -= ended
            begins, worded = bool(delta.text) and not worded, worded or bool(delta.text)
            if first or begins or ended or delta.tool_calls or delta.finish_reason is not None:
                yield delta
            else:
                yield Unhurried(delta, one_delta)
            first = False


def one_delta(first: Delta, second: Delta) -> Delta:
    """Two deltas of a response as one: a worker has as much to do for a word as for ten."""
    return replace(
        second,
        text=first.text + second.text,
        thought=first.thought + second.thought,
        pieces=first.pieces + second.pieces,
    )


class RemoteLlm:
    """The supervisor's LLM, with all that stands before it: priority queue, fallback, routing."""

    def __init__(self, supervisor: RpcConnection) -> None:
        self._supervisor = supervisor
        self._asking: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """The supervisor starts it."""

    async def close(self) -> None:
        """The supervisor closes it."""

    def hurry(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Have the supervisor let this caller's request go before others."""
        asking = asyncio.create_task(self._hurry(caller, due_s), name="hurry")
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)

    async def _hurry(self, caller: str, due_s: float) -> None:
        with suppress(RpcError):  # the response meets the same failure, and tells it
            await self._supervisor.ask("hurry", (caller, due_s))

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a response. Raises LlmError."""
        windows = HELD_WINDOWS if request.priority_class == "preemptive" else Windows()
        with _raising(LlmError):
            async with aclosing(self._supervisor.stream("generate", request, windows=windows)) as deltas:
                async for delta in deltas:
                    yield delta

    async def prefill(self, request: Request) -> Usage | None:
        """Have the LLM read. Raises LlmError."""
        with _raising(LlmError):
            usage: Usage | None = await self._supervisor.ask("prefill", request)
            return usage


class RemoteSynthesizer:
    """The supervisor's synthesizer. rate_hz: of its sound, known once it has started."""

    rate_hz: int
    takes_speed = True

    def __init__(self, supervisor: RpcConnection) -> None:
        self._supervisor = supervisor

    async def start(self) -> None:
        """Wait until the supervisor has started it. Raises SynthesizerError."""
        with _raising(SynthesizerError):
            self.rate_hz = await self._supervisor.ask("rate_hz")

    async def close(self) -> None:
        """The supervisor closes it."""

    async def speak(self, text: str, speed: float = 1.0) -> AsyncGenerator[Speech, None]:
        """Speak one fragment of text. speed: where the supervisor's takes one. Raises SynthesizerError."""
        with _raising(SynthesizerError):
            async with aclosing(self._supervisor.stream("speak", (text, speed))) as speeches:
                async for speech in speeches:
                    yield speech


def _is_sound(item: Samples | Flush) -> bool:
    return not isinstance(item, Flush)


@contextmanager
def _raising(error: Callable[[str], Exception]) -> Iterator[None]:
    """What goes wrong between the processes is a failure of the engine."""
    try:
        yield
    except RpcError as failure:
        raise error(str(failure)) from failure
