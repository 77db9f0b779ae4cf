"""Engines across processes: the supervisor serves its own, call workers use them by RPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from audio.pcm import Samples
from audio.recognizers import (
    NOTHING_EXPECTED,
    SAMPLE_RATE_HZ,
    ExpectedSpeech,
    Flush,
    Hypothesis,
    RecognizerError,
    recognize_expecting,
)
from audio.synthesizers import (
    Speech,
    Synthesizer,
    SynthesizerError,
    further_languages,
    known_voices,
    speak_with,
    takes_speed,
)
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
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
    SupportsPriorityRaise,
    Usage,
)
from voiceagent.conversation.fragments import Fragmenter
from voiceagent.engines.engines import Engines
from voiceagent.processes.messages import RpcError, Windows
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import CoalescedValue, Service
from voiceagent.text_normalization import Alignment

ENGINE_ERRORS = (
    *(RecognizerError, SynthesizerError, LlmError, RequestError, LimitError, BusyError),
    *(RefusedError, ReplyError, ServerError, SetupError),
)
"""Exceptions of engines that are passed to workers unchanged."""


CHUNK_SAMPLES = SAMPLE_RATE_HZ * 3 // 32
"""Samples sent to the recognizer at once, three windows of the front end: one message per window would cost a
worker more than the rest of its work on it. A recognizer also produces partial results less often.
"""
URGENT_FRAGMENTS = 2
"""Fragments of a response sent without delay: the caller waits for the first, which may be one word, and the
second must follow while that is played. Later deltas are join_chunks, as each message wakes both processes.
"""


PREEMPTIVE_WINDOWS = Windows(here=1 << 10)
"""Flow control window of a preemptive response.

The session pauses such a response by not reading it (`turn.preemptive_tokens`), and the LLM notices once this
many bytes are unread: a dozen deltas. The default window would hold a whole response.
"""


def engine_services(engines: Engines, language: str) -> Mapping[str, Service]:
    """Return the RPC services of the engines. language: of the agents."""

    def recognize(
        expected: ExpectedSpeech, sound: AsyncGenerator[Any, None]
    ) -> AsyncGenerator[Hypothesis, None]:
        return recognize_expecting(engines.recognizer, sound, expected)

    def generate(request: Request, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        return prioritize_first_deltas(engines.llm.generate(request), new_fragmenter(language))

    async def prefill(request: Request, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Usage | None, None]:
        yield await engines.llm.prefill(request)

    async def raise_priority(
        raised: tuple[str, float], _: AsyncGenerator[Any, None]
    ) -> AsyncGenerator[None, None]:
        if isinstance(engines.llm, SupportsPriorityRaise):
            engines.llm.raise_priority(*raised)
        yield None

    def speak(asked: tuple[str, VoiceSettings], _: AsyncGenerator[Any, None]) -> AsyncGenerator[Speech, None]:
        return speak_with(engines.synthesizer, *asked)

    return {
        "recognize": recognize,
        "generate": generate,
        "prefill": prefill,
        "raise_priority": raise_priority,
        "speak": speak,
    }


class SupervisorRecognizer:
    """RPC client of the supervisor's recognizer."""

    takes_expected = True
    """The supervisor's recognizer gets what is expected, as far as it uses it."""

    def __init__(self, supervisor: RpcConnection) -> None:
        self._supervisor = supervisor

    async def start(self) -> None:
        """Do nothing: the supervisor starts it."""

    async def close(self) -> None:
        """Do nothing: the supervisor closes it."""

    async def recognize(
        self, sound: AsyncIterator[Samples | Flush], expected: ExpectedSpeech = NOTHING_EXPECTED
    ) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        with _convert_errors(RecognizerError):
            async with aclosing(
                self._supervisor.stream("recognize", expected, items=join_chunks(sound), patient=_is_audio)
            ) as hypotheses:
                async for hypothesis in hypotheses:
                    yield hypothesis


async def join_chunks(sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Samples | Flush, None]:
    """Join audio to chunks of `CHUNK_SAMPLES` or more; a flush sends the rest."""
    waiting: list[Samples] = []
    async for item in sound:
        if not isinstance(item, Flush):
            waiting.append(item)
            if sum(map(len, waiting)) < CHUNK_SAMPLES:
                continue
        if waiting:
            yield np.concatenate(waiting)
            waiting.clear()
        if isinstance(item, Flush):
            yield item
    if waiting:
        yield np.concatenate(waiting)


def new_fragmenter(language: str) -> Fragmenter:
    """Return a fragmenter with the workers' rules, but without text normalization, which is left to them."""
    return Fragmenter(language, normalize=_as_written)


def _as_written(text: str, *_: str) -> tuple[str, Alignment]:
    return (text if any(map(str.isalnum, text)) else ""), ()


async def prioritize_first_deltas(
    deltas: AsyncGenerator[Delta, None], fragmenter: Fragmenter
) -> AsyncGenerator[Delta | CoalescedValue, None]:
    """Yield `deltas`; low-priority ones as `CoalescedValue`.

    High priority: the first delta, the first words after thoughts, each delta that ends a fragment, tool
    calls, and the end of the response. Each carries along the deltas before it. `fragmenter` must be new; it
    finds the same fragments as the worker does.
    """
    first, worded, awaited = True, False, URGENT_FRAGMENTS
    async with aclosing(deltas):
        async for delta in deltas:
            ended = len(fragmenter.push(delta.text)) if awaited > 0 else 0
            awaited -= ended
            begins, worded = bool(delta.text) and not worded, worded or bool(delta.text)
            if first or begins or ended or delta.tool_calls or delta.finish_reason is not None:
                yield delta
            else:
                yield CoalescedValue(delta, join_deltas)
            first = False


def join_deltas(first: Delta, second: Delta) -> Delta:
    """Join two deltas: a worker's cost is per delta, not per word."""
    return replace(
        second,
        text=first.text + second.text,
        thought=first.thought + second.thought,
        pieces=first.pieces + second.pieces,
    )


class SupervisorLlm:
    """RPC client of the supervisor's LLM, with its priority queue, fallback and routing."""

    def __init__(self, supervisor: RpcConnection) -> None:
        self._supervisor = supervisor
        self._requests: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Do nothing: the supervisor starts it."""

    async def close(self) -> None:
        """Do nothing: the supervisor closes it."""

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        request = asyncio.create_task(self._raise_priority(caller, due_s), name="raise priority")
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)

    async def _raise_priority(self, caller: str, due_s: float) -> None:
        with suppress(RpcError):  # the response itself fails too, and reports the error
            await self._supervisor.ask("raise_priority", (caller, due_s))

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a response. Raises LlmError."""
        windows = PREEMPTIVE_WINDOWS if request.priority_class == "preemptive" else Windows()
        with _convert_errors(LlmError):
            async with aclosing(self._supervisor.stream("generate", request, windows=windows)) as deltas:
                async for delta in deltas:
                    yield delta

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at the supervisor's LLM. Raises LlmError."""
        with _convert_errors(LlmError):
            usage: Usage | None = await self._supervisor.ask("prefill", request)
            return usage


@dataclass(frozen=True, slots=True)
class SynthesizerFacts:
    """Properties of the supervisor's synthesizer that workers need."""

    rate_hz: int
    takes_speed: bool
    known_voices: KnownVoices
    further_languages: tuple[str, ...]

    @classmethod
    def of(cls, synthesizer: Synthesizer) -> SynthesizerFacts:
        """Return the facts of a started synthesizer."""
        voices, languages = known_voices(synthesizer), further_languages(synthesizer)
        return cls(synthesizer.rate_hz, takes_speed(synthesizer), voices, languages)


class SupervisorSynthesizer:
    """RPC client of the supervisor's synthesizer. rate_hz, takes_speed, known_voices: known once started."""

    rate_hz: int

    def __init__(self, supervisor: RpcConnection) -> None:
        self._supervisor = supervisor
        self.takes_speed = False
        self.known_voices = KnownVoices()
        self.further_languages: tuple[str, ...] = ()

    async def start(self) -> None:
        """Wait until the supervisor has started it. Raises SynthesizerError."""
        with _convert_errors(SynthesizerError):
            facts: SynthesizerFacts = await self._supervisor.ask("synthesizer_facts")
        self.rate_hz, self.takes_speed = facts.rate_hz, facts.takes_speed
        self.further_languages = facts.further_languages
        self.known_voices = facts.known_voices.as_asked()  # the supervisor resolves aliases

    async def close(self) -> None:
        """Do nothing: the supervisor closes it."""

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        """Speak one fragment of text. Raises SynthesizerError."""
        with _convert_errors(SynthesizerError):
            async with aclosing(self._supervisor.stream("speak", (text, settings))) as speeches:
                async for speech in speeches:
                    yield speech


def _is_audio(item: Samples | Flush) -> bool:
    return not isinstance(item, Flush)


@contextmanager
def _convert_errors(error: Callable[[str], Exception]) -> Iterator[None]:
    """Convert failures between the processes to the engine's error."""
    try:
        yield
    except RpcError as failure:
        raise error(str(failure)) from failure
