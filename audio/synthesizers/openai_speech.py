"""Any server that speaks by OpenAI's `POST /v1/audio/speech`: OpenAI itself, vLLM-Omni, Kokoro-FastAPI.

The sound is asked for as raw PCM and passed on as it comes. The API tells no times of words.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import httpx2
import numpy as np

from audio.openai_server import RETRIED_STATUSES, RETRY_S, OpenAIServer, reason_of, told
from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.pieces import QuietEnd

_PAUSE_S = 0.12


class _Again(Exception):
    """A try failed before there was any sound; the text says why."""


@dataclass(eq=False)
class OpenAISpeech(OpenAIServer):
    """A voice behind an HTTP endpoint.

    model, voice: their names there. instructions: how to speak, for models that take it. speed: 1.0 is the
    voice's own. rate_hz: of the PCM that the server sends. The others: see OpenAIServer.
    """

    failure: ClassVar[type[Exception]] = SynthesizerError

    _: KW_ONLY
    model: str = "gpt-4o-mini-tts"
    voice: str = "alloy"
    instructions: str = ""
    speed: float = 1.0
    rate_hz: int = 24_000

    def __post_init__(self) -> None:
        super().__post_init__()
        self._client: httpx2.AsyncClient | None = None

    async def start(self) -> None:
        """Find the key. Raises SynthesizerError."""
        self._client = httpx2.AsyncClient(**self.client_options())

    async def close(self) -> None:
        """Close the connections; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Speak one fragment. Raises SynthesizerError."""
        if not any(character.isalnum() for character in text):
            return
        for attempt in range(self.retries + 1):
            try:
                async with aclosing(self._attempt(text)) as speeches:
                    async for speech in speeches:
                        yield speech
                return
            except _Again as failed:
                if attempt == self.retries:
                    raise self.failed(str(failed)) from failed
            await asyncio.sleep(RETRY_S)

    async def _attempt(self, text: str) -> AsyncGenerator[Speech, None]:
        if self._client is None:
            raise self.failed("not started, or closed")
        quiet_end = QuietEnd(round(_PAUSE_S * self.rate_hz))
        begun, half = False, b""
        try:
            async with self._client.stream("POST", "audio/speech", json=self._request(text)) as response:
                await self._check(response)
                async for chunk in response.aiter_bytes():
                    data = half + chunk
                    whole = len(data) - len(data) % 2
                    half = data[whole:]
                    samples = quiet_end.push(np.frombuffer(data[:whole], "<i2").astype(np.int16))
                    if len(samples):
                        begun = True
                        yield Speech(samples)
            samples = quiet_end.finish()
            if len(samples):
                yield Speech(samples)
        except httpx2.HTTPError as error:
            if not begun:
                raise _Again(reason_of(error)) from error
            raise self.failed(f"the sound broke off: {reason_of(error)}") from error

    def _request(self, text: str) -> dict[str, Any]:
        request = {"model": self.model, "voice": self.voice, "input": text, "response_format": "pcm"}
        spoken = {"instructions": self.instructions} if self.instructions else {}
        return request | spoken | ({"speed": self.speed} if self.speed != 1.0 else {})

    async def _check(self, response: httpx2.Response) -> None:
        """Raises _Again, or SynthesizerError where another try would do no better."""
        kind = response.headers.get("content-type", "")
        if response.status_code == 200 and "json" not in kind:
            return
        message = told(response.status_code, (await response.aread()).decode(errors="replace"))
        if response.status_code in RETRIED_STATUSES:
            raise _Again(message)
        raise self.failed(message)
