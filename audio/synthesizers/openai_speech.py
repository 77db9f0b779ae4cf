"""Any server that speaks by OpenAI's `POST /v1/audio/speech`: OpenAI itself, vLLM-Omni, Kokoro-FastAPI.

The sound is asked for as raw PCM and passed on as it comes. The API tells no times of words.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass
from typing import Any

import httpx2
import numpy as np

from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.pieces import QuietEnd

_PAUSE_S = 0.12
_RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_RETRY_S = 0.2
_MAX_MESSAGE = 200
"""Characters of what the server says of an error."""


class _Again(Exception):
    """A try failed before there was any sound; the text says why."""


@dataclass(eq=False)
class OpenAISpeech:
    """A voice behind an HTTP endpoint.

    model, voice: their names there. base_url: the address up to and with `/v1`. api_key_env: the variable of
    the environment with the key; "" for a server that wants none. instructions: how to speak, for models that
    take it. speed: 1.0 is the voice's own. rate_hz: of the PCM that the server sends. timeout_s: longest wait
    for the first sound, and for more. retries: further tries while there is no sound yet.
    """

    model: str = "gpt-4o-mini-tts"
    voice: str = "alloy"
    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    instructions: str = ""
    speed: float = 1.0
    rate_hz: int = 24_000
    connect_timeout_s: float = 2.0
    timeout_s: float = 8.0
    retries: int = 1

    def __post_init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None

    async def start(self) -> None:
        """Find the key. Raises SynthesizerError."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else "none"
        if not key:
            variable = f"the environment variable {self.api_key_env} (api_key_env) is not set"
            raise SynthesizerError(f"{self.base_url}: {variable}")
        timeout = httpx2.Timeout(self.timeout_s, connect=self.connect_timeout_s)
        self._client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=timeout)

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
                    raise SynthesizerError(f"{self.base_url}: {failed}") from failed
            await asyncio.sleep(_RETRY_S)

    async def _attempt(self, text: str) -> AsyncGenerator[Speech, None]:
        if self._client is None:
            raise SynthesizerError(f"{self.base_url}: not started, or closed")
        quiet_end = QuietEnd(round(_PAUSE_S * self.rate_hz))
        begun, half = False, b""
        try:
            url = f"{self.base_url}/audio/speech"
            async with self._client.stream("POST", url, json=self._request(text)) as response:
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
            reason = str(error) or type(error).__name__
            if not begun:
                raise _Again(reason) from error
            raise SynthesizerError(f"{self.base_url}: the sound broke off: {reason}") from error

    def _request(self, text: str) -> dict[str, Any]:
        request = {"model": self.model, "voice": self.voice, "input": text, "response_format": "pcm"}
        spoken = {"instructions": self.instructions} if self.instructions else {}
        return request | spoken | ({"speed": self.speed} if self.speed != 1.0 else {})

    async def _check(self, response: httpx2.Response) -> None:
        """Raises _Again, or SynthesizerError where another try would do no better."""
        kind = response.headers.get("content-type", "")
        if response.status_code == 200 and "json" not in kind:
            return
        message = (await response.aread()).decode(errors="replace")[:_MAX_MESSAGE]
        if response.status_code in _RETRIED_STATUSES:
            raise _Again(f"{response.status_code}: {message}")
        raise SynthesizerError(f"{self.base_url}: {response.status_code}: {message}")
