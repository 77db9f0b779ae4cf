"""A caller that speaks recordings through the unmodified `openai` SDK, and proves every event it gets."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from openai_types import proved
from response_order import ResponseOrder
from websockets.exceptions import ConnectionClosed

from audio.pcm import AudioFormat, Samples, encode

FRAME_S = 0.02
PATIENCE_S = 60.0


class SdkCaller:
    """One call. `events` holds all server events as dictionaries, in order."""

    def __init__(self, connection: AsyncRealtimeConnection) -> None:
        self.connection = connection
        self.events: list[dict[str, Any]] = []
        self._vanished = False
        self._failure: Exception | None = None
        self._order = ResponseOrder()
        self._came = asyncio.Event()

    async def listen(self) -> None:
        """Take events until the call ends; `until` raises what went wrong."""
        try:
            async for event in self.connection:
                self._take(event.to_dict())
        except (AssertionError, ConnectionClosed) as error:
            if not self._vanished:
                self._failure = error
        self._came.set()

    def _take(self, event: dict[str, Any]) -> None:
        if not event["type"].startswith("voiceagent."):
            self._order.take(proved(event))
        self.events.append(event)
        self._came.set()

    def vanish(self) -> None:
        """Break the connection off, without a word."""
        self._vanished = True
        self.connection._connection.transport.abort()

    async def speak(
        self, samples: Samples, audio_format: AudioFormat = AudioFormat.PCM_24K, silence_s: float = 1.5
    ) -> None:
        """Say something and fall silent, at the pace of real time; `samples` are at the format's rate."""
        frame = round(FRAME_S * audio_format.rate_hz)
        silence = np.zeros(round(silence_s * audio_format.rate_hz), np.int16)
        sound = np.concatenate([samples, silence])
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        for at in range(0, len(sound), frame):
            data = base64.b64encode(encode(sound[at : at + frame], audio_format)).decode()
            await self.connection.input_audio_buffer.append(audio=data)
            due_s += FRAME_S
            await asyncio.sleep(max(0.0, due_s - loop.time()))

    async def until(self, kind: str, number: int = 1) -> dict[str, Any]:
        """The first, second, ... event of a kind, waited for if it has not come yet."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.of(kind)) < number:
                self.check()
                self._came.clear()
                await self._came.wait()
        return self.of(kind)[number - 1]

    def check(self) -> None:
        """Raises what went wrong while listening, if anything did."""
        if self._failure is not None:
            raise self._failure

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All events of a kind that have come."""
        return [event for event in self.events if event["type"] == kind]

    def sound(self) -> bytes:
        """All sound that has come."""
        deltas = self.of("response.output_audio.delta")
        return b"".join(base64.b64decode(event["delta"]) for event in deltas)


@asynccontextmanager
async def calling(
    address: str, headers: dict[str, str] | None = None, **session: Any
) -> AsyncIterator[SdkCaller]:
    """A call to the server at `address`, its session updated with these fields."""
    sdk = AsyncOpenAI(api_key="none", base_url=f"http://{address}/v1")
    async with sdk.realtime.connect(model="gpt-realtime", extra_headers=headers or {}) as connection:
        caller = SdkCaller(connection)
        listening = asyncio.create_task(caller.listen())
        try:
            if session:
                update: Any = {"type": "realtime", **session}
                await connection.session.update(session=update)
                await caller.until("session.updated")
            yield caller
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        caller.check()
