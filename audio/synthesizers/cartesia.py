"""Cartesia's streaming TTS, `wss://api.cartesia.ai/tts/websocket`.

All texts share one connection, each with a context of its own. Contexts of abandoned texts are cancelled.
Word timestamps arrive in messages of their own.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from contextvars import Context
from dataclasses import KW_ONLY, dataclass
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from audio.hosted.server import (
    RETRIED_STATUSES,
    ConnectionLost,
    close_websocket,
    describe_error,
    open_websocket,
)
from audio.synthesizers import Speech, WordTiming
from audio.synthesizers.hosted_voice import HostedVoice, PcmBytes
from audio.synthesizers.pieces import WordPlaces
from audio.synthesizers.voices import VoiceSettings

API_VERSION = "2026-03-01"
"""Value of the `Cartesia-Version` header."""
_SLOWEST, _FASTEST = 0.6, 1.5
"""Bounds of `generation_config.speed`. Cartesia has disabled it for sonic-3.5 for the time being; sonic-3
takes it (https://docs.cartesia.ai/build-with-cartesia/capability-guides/volume-speed-emotion).
"""
_VOICE_ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@dataclass(eq=False)
class CartesiaSynthesizer(HostedVoice):
    """Cartesia's voices. Arguments not listed: see HostedServer.

    Args:
        voice: the voice's id.
        model: Cartesia's model name.
        language: code of the voice's language.
        rate_hz: sample rate to request.
    """

    base_url: str = "wss://api.cartesia.ai"
    voice: str = "a0e99841-438c-4a64-b679-ae501e7d6091"
    _: KW_ONLY
    api_key_env: str = "CARTESIA_API_KEY"
    model: str = "sonic-3.5"
    language: str = "en"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._key = ""
        self._opening: asyncio.Task[_Connection] | None = None

    async def start(self) -> None:
        """Read the API key and connect.

        Raises:
            SynthesizerError: the key is not set, or the server refused or cannot be reached.
        """
        self._key = self.key()
        try:
            await self._shared_connection()
        except ConnectionLost as lost:
            raise self.failed(str(lost)) from lost

    async def close(self) -> None:
        """Close the connection, which ends all texts; a second call does nothing."""
        self._key = ""
        opening, self._opening = self._opening, None
        if opening is not None:
            with suppress(Exception):
                await (await opening).close()

    def _server_voices(self) -> tuple[tuple[str, ...], str]:
        return (self.voice,), _VOICE_ID

    async def _attempt(self, text: str, settings: VoiceSettings) -> AsyncGenerator[Speech, None]:
        connection = await self._shared_connection()
        context = uuid4().hex
        pcm, places, is_done = PcmBytes(), WordPlaces(text), False
        messages = connection.subscribe(context)
        try:
            await connection.send(self._request(text, context, settings))
            while not is_done:
                try:
                    async with asyncio.timeout(self.timeout_s):
                        message = await messages.get()
                except TimeoutError:
                    raise ConnectionLost("it said nothing in time (timeout_s)") from None
                if message is None:
                    raise ConnectionLost("the connection was lost")
                is_done = bool(message.get("done"))
                yield self._speech(message, pcm, places)
        finally:
            connection.unsubscribe(context, cancel=not is_done)

    def _request(self, text: str, context: str, settings: VoiceSettings) -> dict[str, Any]:
        speed = min(max(settings.speed, _SLOWEST), _FASTEST)
        return ({"generation_config": {"speed": speed}} if speed != 1.0 else {}) | {
            "model_id": self.model,
            "transcript": text,
            "voice": {"mode": "id", "id": settings.voice or self.voice},
            "language": self.language,
            "context_id": context,
            "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": self.rate_hz},
            "add_timestamps": True,
            # Timestamps name the words of the text as sent: normalized ones ("forty two") would not match it.
            "use_normalized_timestamps": False,
            # The transcript is complete: Cartesia must not wait for more text before it speaks.
            "max_buffer_delay_ms": 0,
            "continue": False,
        }

    def _speech(self, message: dict[str, Any], pcm: PcmBytes, places: WordPlaces) -> Speech:
        """Return the audio and word timings of a message.

        Raises ConnectionLost for errors worth a retry, SynthesizerError for others.
        """
        if message.get("type") == "error":
            status = message.get("status_code", 0)
            reason = (
                f"{status}: {message.get('title', '')} {message.get('message') or message.get('error', '')}"[
                    :200
                ]
            )
            if status in RETRIED_STATUSES:
                raise ConnectionLost(reason)
            raise self.failed(reason)
        try:
            samples = pcm.push(base64.b64decode(message.get("data") or ""))
            timestamps = message.get("word_timestamps") or {"words": (), "start": ()}
            timings = [
                WordTiming(place, round(at_s * self.rate_hz))
                for word, at_s in zip(timestamps["words"], timestamps["start"], strict=True)
                if (place := places.next(word)) is not None
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.failed(
                f"it answered {str(message)[:200]!r}; allowed: chunks and timestamps"
            ) from error
        return Speech(samples, tuple(timings))

    async def _shared_connection(self) -> _Connection:
        """Return the shared connection, opening one if there is none.

        Concurrent callers wait for the same attempt. Raises ConnectionLost, SynthesizerError.
        """
        if not self._key:
            raise self.failed("not started, or closed")
        opening = self._opening
        if opening is None or (opening.done() and (opening.exception() or not opening.result().alive)):
            opening = self._opening = asyncio.create_task(self._open(), context=Context())
        return await asyncio.shield(opening)

    async def _open(self) -> _Connection:
        headers = {"X-API-Key": self._key, "Cartesia-Version": API_VERSION}
        return _Connection(await open_websocket(self, "tts/websocket", headers))


class _Connection:
    """A connection that dispatches messages to the texts (contexts) they belong to."""

    def __init__(self, connection: ClientConnection) -> None:
        self.alive = True
        self._connection = connection
        self._contexts: dict[str, asyncio.Queue[dict[str, Any] | None]] = {}
        self._cancels: set[asyncio.Task[None]] = set()
        self._reader = asyncio.create_task(self._read())

    def subscribe(self, context: str) -> asyncio.Queue[dict[str, Any] | None]:
        """Return the queue of a context's messages; None in it marks the end of the connection.

        The queue is unbounded: a text is short.
        """
        messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._contexts[context] = messages
        return messages

    def unsubscribe(self, context: str, cancel: bool) -> None:
        """Drop a context's messages. cancel: also ask the server to stop synthesizing it."""
        self._contexts.pop(context, None)
        if cancel and self.alive:
            task = asyncio.create_task(self._cancel(context))
            self._cancels.add(task)
            task.add_done_callback(self._cancels.discard)

    async def send(self, message: dict[str, Any]) -> None:
        try:
            await self._connection.send(json.dumps(message))
        except ConnectionClosed as closed:
            raise ConnectionLost(describe_error(closed)) from closed

    async def close(self) -> None:
        await close_websocket(self._connection)
        await self._reader

    async def _cancel(self, context: str) -> None:
        with suppress(ConnectionLost):
            await self.send({"context_id": context, "cancel": True})

    async def _read(self) -> None:
        try:
            async for text in self._connection:
                message = json.loads(text)
                messages = self._contexts.get(message.get("context_id", ""))
                if messages is not None:
                    messages.put_nowait(message)
        except (ConnectionClosed, ValueError, AttributeError):
            pass  # subscribers are notified below; the next text opens a new connection
        finally:
            self.alive = False
            for messages in self._contexts.values():
                messages.put_nowait(None)
            await close_websocket(self._connection)
