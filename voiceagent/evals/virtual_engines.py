"""Engines of a call in virtual time.

The LLM and the synthesizer work in real time, on an event loop in a thread of their own, with their
processes, timers and connections. The call's clock stands still while it waits for them; what they deliver
counts as delivered after the time that it took, or that is given. The recognizer works in the call's own
event loop, whose executor takes a fixed or measured time (`VirtualTimeLoop`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from audio.synthesizers import Speech, Synthesizer, known_voices, speak_with, takes_speed
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from llmcore.engine import Delta, Llm, Request
from voiceagent.evals.scenario import Times
from voiceagent.evals.virtual_time import frozen

T = TypeVar("T")
Delay = Callable[[int, float], float]
"""Returns the time of a delivery since the request, from its index and its measured time, both in seconds."""


class EngineThread:
    """An event loop in real time for engines, as a context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engines", daemon=True)

    def __enter__(self) -> EngineThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there; the caller's clock stands still meanwhile."""
        with frozen():
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def stream(self, items: AsyncGenerator[T, None], delay: Delay) -> AsyncGenerator[T, None]:
        """Yield the items of a generator that runs there, each after its delay on the caller's clock."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        delivered = _Delivered[T](loop)
        producing = asyncio.run_coroutine_threadsafe(_produce(items, delivered), self._loop)
        try:
            index = 0
            while (item := await delivered.next()) is not None:
                await asyncio.sleep(max(0.0, began_s + delay(index, item.after_s) - loop.time()))
                index += 1
                yield item.value
            with frozen():
                await asyncio.wrap_future(producing)  # raises the generator's exception
        finally:
            producing.cancel()


@dataclass(frozen=True, slots=True)
class _Item(Generic[T]):
    value: T
    after_s: float


class _Delivered(Generic[T]):
    """Queue of items from an engine's thread to the event loop. None comes after the last one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: deque[_Item[T] | None] = deque()
        self._arrived = asyncio.Event()

    def push(self, item: _Item[T] | None) -> None:
        """Add an item, or None for the end; from the other thread."""
        self._items.append(item)
        with suppress(RuntimeError):  # the call's event loop has ended
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def next(self) -> _Item[T] | None:
        """Return the next item, None after the last one; the clock stands still meanwhile."""
        while not self._items:
            self._arrived.clear()
            if self._items:  # pushed before the event was cleared
                break
            with frozen():
                await self._arrived.wait()
        return self._items.popleft()


async def _produce(items: AsyncGenerator[T, None], delivered: _Delivered[T]) -> None:
    began_s = time.monotonic()
    try:
        async with aclosing(items):
            async for item in items:
                delivered.push(_Item(item, time.monotonic() - began_s))
    finally:
        delivered.push(None)


class VirtualLlm:
    """An LLM for calls in virtual time."""

    def __init__(self, inner: Llm, thread: EngineThread, times: Times) -> None:
        self._inner = inner
        self._thread = thread
        self._times = times

    async def start(self) -> None:
        await self._thread.run(self._inner.start())

    async def close(self) -> None:
        await self._thread.run(self._inner.close())

    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        return self._thread.stream(self._inner.generate(request), self._delay)

    async def prefill(self, request: Request) -> Any:
        """Prefill the prompt, in no time."""
        return await self._thread.run(self._inner.prefill(request))

    def _delay(self, index: int, measured_s: float) -> float:
        first_s = self._times.first_token_s
        return measured_s if first_s is None else first_s + index * self._times.token_s


class VirtualSynthesizer:
    """A synthesizer for calls in virtual time."""

    def __init__(self, inner: Synthesizer, thread: EngineThread, times: Times) -> None:
        self._inner = inner
        self._thread = thread
        self._first_audio_s = times.first_audio_s
        self.rate_hz = 0

    @property
    def takes_speed(self) -> bool:
        return takes_speed(self._inner)

    @property
    def known_voices(self) -> KnownVoices:
        return known_voices(self._inner)

    async def start(self) -> None:
        await self._thread.run(self._inner.start())
        self.rate_hz = self._inner.rate_hz

    async def close(self) -> None:
        await self._thread.run(self._inner.close())

    def speak(self, text: str, settings: VoiceSettings = USUAL_SETTINGS) -> AsyncGenerator[Speech, None]:
        return self._thread.stream(speak_with(self._inner, text, settings), self._delay)

    def _delay(self, index: int, measured_s: float) -> float:
        return measured_s if self._first_audio_s is None else self._first_audio_s
