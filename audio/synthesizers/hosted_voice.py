"""Voices behind a server: a text is tried again while nothing of it was said, and ends in a short pause."""

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

from audio.hosted.server import RETRIED_STATUSES, HostedServer, reason_of, retry_wait_s, told
from audio.hosted.websocket import ConnectionLost
from audio.pcm import Samples
from audio.synthesizers import Speech, SynthesizerError, WordTiming
from audio.synthesizers.pieces import QuietEnd

_PAUSE_S = 0.12
_NO_SOUND: Samples = np.zeros(0, np.int16)


@dataclass(eq=False)
class HostedVoice(HostedServer):
    """A voice behind a server. rate_hz: of the PCM that the server sends."""

    failure: ClassVar[type[Exception]] = SynthesizerError
    takes_speed: ClassVar[bool] = False

    _: KW_ONLY
    rate_hz: int = 24_000

    async def speak(self, text: str, speed: float = 1.0) -> AsyncGenerator[Speech, None]:
        """Speak one fragment. speed: where it takes one. Raises SynthesizerError."""
        if not any(character.isalnum() for character in text):
            return
        for failures in range(1, self.retries + 2):
            begun = False
            try:
                async with aclosing(self._quiet_in_the_end(text, speed)) as speeches:
                    async for speech in speeches:
                        begun = True
                        yield speech
                return
            except ConnectionLost as lost:
                if begun:
                    raise self.failed(f"the sound broke off: {lost}") from lost
                if failures > self.retries:
                    raise self.failed(str(lost)) from lost
            await asyncio.sleep(retry_wait_s(failures, random.random))

    @abstractmethod
    def _attempt(self, text: str, speed: float) -> AsyncGenerator[Speech, None]:
        """Ask once. Raises ConnectionLost, or SynthesizerError where another try would do no better."""

    async def _quiet_in_the_end(self, text: str, speed: float) -> AsyncGenerator[Speech, None]:
        quiet_end = QuietEnd(round(_PAUSE_S * self.rate_hz))
        words: tuple[WordTiming, ...] = ()
        async with aclosing(self._attempt(text, speed)) as speeches:
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
    """A voice that answers a POST with a stream."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._client: httpx2.AsyncClient | None = None

    async def start(self) -> None:
        """Find the key. Raises SynthesizerError."""
        self._client = httpx2.AsyncClient(**self.client_options(self._headers(self.key())))

    async def close(self) -> None:
        """Close the connections; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @abstractmethod
    def _headers(self, key: str) -> dict[str, str]:
        """The headers of every request."""

    @abstractmethod
    def _request(self, text: str, speed: float) -> tuple[str, dict[str, Any]]:
        """The path, with its query, and the body that ask for a text."""

    @abstractmethod
    def _speeches(self, text: str, response: httpx2.Response) -> AsyncGenerator[Speech, None]:
        """What comes, as it comes."""

    def _refused(self, response: httpx2.Response) -> bool:
        return response.status_code != 200

    async def _attempt(self, text: str, speed: float) -> AsyncGenerator[Speech, None]:
        if self._client is None:
            raise self.failed("not started, or closed")
        path, body = self._request(text, speed)
        try:
            async with self._client.stream("POST", path, json=body) as response:
                if self._refused(response):
                    message = told(response.status_code, (await response.aread()).decode(errors="replace"))
                    if response.status_code in RETRIED_STATUSES:
                        raise ConnectionLost(message)
                    raise self.failed(message)
                async with aclosing(self._speeches(text, response)) as speeches:
                    async for speech in speeches:
                        yield speech
        except httpx2.HTTPError as error:
            raise ConnectionLost(reason_of(error)) from error


class PcmBytes:
    """Raw PCM that comes in chunks which may end within a sample."""

    def __init__(self) -> None:
        self._half = b""

    def push(self, chunk: bytes) -> Samples:
        """The whole samples so far, [n] int16."""
        data = self._half + chunk
        whole = len(data) - len(data) % 2
        self._half = data[whole:]
        return np.frombuffer(data[:whole], "<i2").astype(np.int16)
