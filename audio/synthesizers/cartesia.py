"""Cartesia's streaming speech, `wss://api.cartesia.ai/tts/websocket`: a context a text on one connection.

A text that nobody wants any more is cancelled. The times of words come beside the sound.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from audio.hosted.server import RETRIED_STATUSES, reason_of
from audio.hosted.websocket import ConnectionLost, opened, say_goodbye
from audio.synthesizers import Speech, WordTiming
from audio.synthesizers.hosted_voice import HostedVoice, PcmBytes
from audio.synthesizers.pieces import WordPlaces

API_VERSION = "2026-03-01"
"""The one that this file speaks."""


@dataclass(eq=False)
class CartesiaSynthesizer(HostedVoice):
    """Cartesia.

    voice: its id. model, language: their names there. rate_hz: of the sound. The others: see HostedServer.
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
        self._line: asyncio.Task[_Line] | None = None

    async def start(self) -> None:
        """Find the key and connect. Raises SynthesizerError."""
        self._key = self.key()
        try:
            await self._connected()
        except ConnectionLost as lost:
            raise self.failed(str(lost)) from lost

    async def close(self) -> None:
        """End all texts and the connection; a second call does nothing."""
        self._key = ""
        opening, self._line = self._line, None
        if opening is not None:
            with suppress(Exception):
                await (await opening).close()

    async def _attempt(self, text: str, speed: float) -> AsyncGenerator[Speech, None]:
        line = await self._connected()
        context = uuid4().hex
        pcm, places, over = PcmBytes(), WordPlaces(text), False
        messages = line.subscribe(context)
        try:
            await line.send(self._request(text, context))
            while not over:
                try:
                    async with asyncio.timeout(self.timeout_s):
                        message = await messages.get()
                except TimeoutError:
                    raise ConnectionLost("it said nothing in time (timeout_s)") from None
                if message is None:
                    raise ConnectionLost("the connection was lost")
                over = bool(message.get("done"))
                yield self._speech(message, pcm, places)
        finally:
            line.unsubscribe(context, cancel=not over)

    def _request(self, text: str, context: str) -> dict[str, Any]:
        return {
            "model_id": self.model,
            "transcript": text,
            "voice": {"mode": "id", "id": self.voice},
            "language": self.language,
            "context_id": context,
            "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": self.rate_hz},
            "add_timestamps": True,
            "use_normalized_timestamps": False,
            "max_buffer_delay_ms": 0,
            "continue": False,
        }

    def _speech(self, message: dict[str, Any], pcm: PcmBytes, places: WordPlaces) -> Speech:
        """What a message brings. Raises ConnectionLost, SynthesizerError."""
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
            told = message.get("word_timestamps") or {"words": (), "start": ()}
            timings = [
                WordTiming(place, round(at_s * self.rate_hz))
                for word, at_s in zip(told["words"], told["start"], strict=True)
                if (place := places.next(word)) is not None
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.failed(
                f"it answered {str(message)[:200]!r}; allowed: chunks and timestamps"
            ) from error
        return Speech(samples, tuple(timings))

    async def _connected(self) -> _Line:
        """The connection, opened if there is none; many may wait. Raises ConnectionLost, SynthesizerError."""
        if not self._key:
            raise self.failed("not started, or closed")
        opening = self._line
        if opening is None or (opening.done() and (opening.exception() or not opening.result().alive)):
            opening = self._line = asyncio.create_task(self._open())
        return await asyncio.shield(opening)

    async def _open(self) -> _Line:
        headers = {"X-API-Key": self._key, "Cartesia-Version": API_VERSION}
        return _Line(await opened(self, "tts/websocket", headers))


class _Line:
    """One connection, whose messages go to the texts that they are for."""

    def __init__(self, connection: ClientConnection) -> None:
        self.alive = True
        self._connection = connection
        self._contexts: dict[str, asyncio.Queue[dict[str, Any] | None]] = {}
        self._cancels: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())

    def subscribe(self, context: str) -> asyncio.Queue[dict[str, Any] | None]:
        """What comes for a context; None when nothing more can. A text is short, so it is not held back."""
        messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._contexts[context] = messages
        return messages

    def unsubscribe(self, context: str, cancel: bool) -> None:
        """Nothing more is wanted; cancel: and the server is to make no more of it."""
        self._contexts.pop(context, None)
        if cancel and self.alive:
            task = asyncio.create_task(self._cancel(context))
            self._cancels.add(task)
            task.add_done_callback(self._cancels.discard)

    async def send(self, message: dict[str, Any]) -> None:
        """Raises ConnectionLost."""
        try:
            await self._connection.send(json.dumps(message))
        except ConnectionClosed as closed:
            raise ConnectionLost(reason_of(closed)) from closed

    async def close(self) -> None:
        """Close the connection; all texts end."""
        await say_goodbye(self._connection)
        await self._reading

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
            pass  # told below, and the next text has a connection of its own
        finally:
            self.alive = False
            for messages in self._contexts.values():
                messages.put_nowait(None)
            await say_goodbye(self._connection)
