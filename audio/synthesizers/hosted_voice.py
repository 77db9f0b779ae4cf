"""Base classes of remote voices: retries before the first audio, and a short pause after each text."""

from __future__ import annotations

import asyncio
import random
from abc import abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import httpx2
import numpy as np

from audio.hosted.server import (
    RETRIED_STATUSES,
    ConnectionLost,
    HostedServer,
    describe_error,
    describe_response,
    retry_wait_s,
)
from audio.pcm import Samples
from audio.synthesizers import Speech, SynthesizerError, WordTiming
from audio.synthesizers.pieces import QuietEnd
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings

_PAUSE_S = 0.12


@dataclass(eq=False)
class HostedVoice(HostedServer):
    """A remote voice.

    Args:
        rate_hz: sample rate of the PCM that the server sends.
        voices: voices for other names, which clients and agents ask for.
    """

    failure: ClassVar[type[Exception]] = SynthesizerError
    takes_speed: ClassVar[bool] = True

    _: KW_ONLY
    rate_hz: int = 24_000
    voices: dict[str, str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        names, pattern = self._server_voices()
        self.known_voices = KnownVoices(names, pattern, self.voices or {})

    @abstractmethod
    def _server_voices(self) -> tuple[tuple[str, ...], str]:
        """Return the names of the server's voices, and a pattern of further ones, as in KnownVoices."""

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        """Speak one fragment of text.

        A lost connection is retried up to `retries` times while no audio has arrived.

        Args:
            text: one sentence or part of one; nothing is synthesized if it has no letter or digit.
            settings: the voice, "" for the configured one, and a speed, held within the server's bounds.

        Yields:
            The chunks in order.

        Raises:
            SynthesizerError: the server refused, or the connection was lost for good.
        """
        if not any(character.isalnum() for character in text):
            return
        for failures in range(1, self.retries + 2):
            has_audio = False
            try:
                async with aclosing(self._with_short_end(text, settings)) as speeches:
                    async for speech in speeches:
                        has_audio = True
                        yield speech
                return
            except ConnectionLost as lost:
                if has_audio:
                    raise self.failed(f"the sound broke off: {lost}") from lost
                if failures > self.retries:
                    raise self.failed(str(lost)) from lost
            await asyncio.sleep(retry_wait_s(failures, random.random))

    @abstractmethod
    def _attempt(self, text: str, settings: VoiceSettings) -> AsyncGenerator[Speech, None]:
        """Request the audio once.

        Raises ConnectionLost, or SynthesizerError if a retry would not help.
        """

    async def _with_short_end(self, text: str, settings: VoiceSettings) -> AsyncGenerator[Speech, None]:
        quiet_end = QuietEnd(round(_PAUSE_S * self.rate_hz))
        words: tuple[WordTiming, ...] = ()
        async with aclosing(self._attempt(text, settings)) as speeches:
            async for speech in speeches:
                words += speech.words
                samples = quiet_end.push(speech.samples)
                if len(samples):
                    yield Speech(samples, words)
                    words = ()
        samples = quiet_end.finish()
        if len(samples) or words:
            yield Speech(samples, words)


@dataclass(eq=False)
class HttpVoice(HostedVoice):
    """A remote voice that answers a POST with a stream."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._client: httpx2.AsyncClient | None = None

    async def start(self) -> None:
        """Read the API key and create the HTTP client.

        Raises:
            SynthesizerError: the key is not set.
        """
        self._client = httpx2.AsyncClient(**self.client_options(self._headers(self.key())))

    async def close(self) -> None:
        """Close the HTTP client; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @abstractmethod
    def _headers(self, key: str) -> dict[str, str]:
        """Return the headers of every request."""

    @abstractmethod
    def _request(self, text: str, settings: VoiceSettings) -> tuple[str, dict[str, Any]]:
        """Return the path, with its query, and the JSON body of the request for a text."""

    @abstractmethod
    def _stream_audio(self, text: str, response: httpx2.Response) -> AsyncGenerator[Speech, None]:
        """Yield the audio chunks of the HTTP response."""

    def _is_error(self, response: httpx2.Response) -> bool:
        return response.status_code != 200

    async def _attempt(self, text: str, settings: VoiceSettings) -> AsyncGenerator[Speech, None]:
        if self._client is None:
            raise self.failed("not started, or closed")
        path, body = self._request(text, settings)
        try:
            async with self._client.stream("POST", path, json=body) as response:
                if self._is_error(response):
                    message = describe_response(
                        response.status_code, (await response.aread()).decode(errors="replace")
                    )
                    if response.status_code in RETRIED_STATUSES:
                        raise ConnectionLost(message)
                    raise self.failed(message)
                async with aclosing(self._stream_audio(text, response)) as speeches:
                    async for speech in speeches:
                        yield speech
        except httpx2.HTTPError as error:
            raise ConnectionLost(describe_error(error)) from error


class PcmBytes:
    """Decoder of raw 16-bit little-endian PCM whose chunks may end within a sample."""

    def __init__(self) -> None:
        self._incomplete = b""

    def push(self, chunk: bytes) -> Samples:
        """Return the samples that are complete, [n] int16."""
        data = self._incomplete + chunk
        whole = len(data) - len(data) % 2
        self._incomplete = data[whole:]
        return np.frombuffer(data[:whole], "<i2").astype(np.int16)
