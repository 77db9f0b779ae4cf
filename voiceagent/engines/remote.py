"""The engines at both ends of a connection: the parent serves what it holds, a worker asks for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis, RecognizerError
from audio.synthesizers import Speech, SynthesizerError
from llmcore.engine import BusyError, Delta, LlmError, Request, RequestError, Usage
from voiceagent.engines.engines import Engines
from voiceagent.processes.rpc import Peer, PeerError, Service

PASSED_ON = (RecognizerError, SynthesizerError, LlmError, RequestError, BusyError)
"""What engines raise, and workers see as it is."""


def engine_services(engines: Engines) -> Mapping[str, Service]:
    """What workers may ask of the engines."""

    def recognize(_: None, sound: AsyncGenerator[Any, None]) -> AsyncGenerator[Hypothesis, None]:
        return engines.recognizer.recognize(sound)

    def generate(request: Request, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Delta, None]:
        return engines.llm.generate(request)

    async def prefill(request: Request, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Usage | None, None]:
        yield await engines.llm.prefill(request)

    def speak(text: str, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Speech, None]:
        return engines.synthesizer.speak(text)

    return {"recognize": recognize, "generate": generate, "prefill": prefill, "speak": speak}


class RemoteRecognizer:
    """The parent's recognizer."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def start(self) -> None:
        """The parent starts it."""

    async def close(self) -> None:
        """The parent closes it."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        with _raising(RecognizerError):
            async with aclosing(self._peer.stream("recognize", items=sound)) as hypotheses:
                async for hypothesis in hypotheses:
                    yield hypothesis


class RemoteLlm:
    """The parent's LLM, with all that stands before it: priority queue, fallback, routing."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def start(self) -> None:
        """The parent starts it."""

    async def close(self) -> None:
        """The parent closes it."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a response. Raises LlmError."""
        with _raising(LlmError):
            async with aclosing(self._peer.stream("generate", request)) as deltas:
                async for delta in deltas:
                    yield delta

    async def prefill(self, request: Request) -> Usage | None:
        """Have the LLM read. Raises LlmError."""
        with _raising(LlmError):
            usage: Usage | None = await self._peer.ask("prefill", request)
            return usage


class RemoteSynthesizer:
    """The parent's synthesizer. rate_hz: asks for the rate of its sound, once all engines have started."""

    rate_hz: int

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def start(self) -> None:
        """Wait until the parent has started it. Raises SynthesizerError."""
        with _raising(SynthesizerError):
            self.rate_hz = await self._peer.ask("rate_hz")

    async def close(self) -> None:
        """The parent closes it."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak one fragment of text. Raises SynthesizerError."""
        with _raising(SynthesizerError):
            async with aclosing(self._peer.stream("speak", text)) as speeches:
                async for speech in speeches:
                    yield speech


@contextmanager
def _raising(error: Callable[[str], Exception]) -> Iterator[None]:
    """What goes wrong between the processes is a failure of the engine."""
    try:
        yield
    except PeerError as failure:
        raise error(str(failure)) from failure
