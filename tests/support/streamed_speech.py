"""Servers of streaming speech, as their clients see them: Deepgram, vLLM, ElevenLabs, Cartesia.

Their transcript is chosen by the length of the voice, so that each sound has its words.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from speech_api import served_at
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from audio.pcm import Samples

KEY = "key-of-the-test"
WORDS = ["go", "forward", "ten", "meters", "and", "turn", "to", "the", "left", "then", "stop", "at", "once"]
_FRAME = 320
_WORD_FRAMES = 10
_FINAL_WORDS = 3
"""Deepgram makes results final by itself, some words at a time."""


@dataclass
class Trouble:
    """Faults, each once. refusals: status and body of the next handshakes or requests.

    lost_after: messages of the next connections, after which they are lost; None for one that lasts.
    unanswered: a `Finalize` has no answer.
    """

    refusals: list[tuple[int, str]] = field(default_factory=list)
    lost_after: list[int | None] = field(default_factory=list)
    unanswered: bool = False


@dataclass
class Server:
    """One of the servers. connections: messages of each; handshakes: their headers and queries."""

    trouble: Trouble = field(default_factory=Trouble)
    connections: list[list[Any]] = field(default_factory=list)
    handshakes: list[dict[str, Any]] = field(default_factory=list)
    address: str = ""


def words_in(sound: Samples, begin: int = 0) -> list[str]:
    """The words of 16 kHz sound, of which so many were said before."""
    count = -(-_loud_frames(sound).sum() // _WORD_FRAMES)
    return [WORDS[(begin + index) % len(WORDS)] for index in range(count)]


def end_of_words(sound: Samples, count: int) -> int:
    """The sample at which so many words of `sound` have ended."""
    return int(np.flatnonzero(np.cumsum(_loud_frames(sound)) >= count * _WORD_FRAMES)[0] + 1) * _FRAME


def _loud_frames(sound: Samples) -> np.ndarray:
    """Return True for each loud frame of 20 ms, [n]."""
    whole = sound[: len(sound) // _FRAME * _FRAME].reshape(-1, _FRAME).astype(int)
    return np.abs(whole).max(axis=1, initial=0) > 300


class _Connection:
    """A WebSocket with the troubles of its server."""

    def __init__(self, server: Server, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._left = server.trouble.lost_after.pop(0) if server.trouble.lost_after else None
        self._sent: list[Any] = []
        server.connections.append(self._sent)

    async def messages(self) -> AsyncIterator[str | bytes]:
        """Yield the client's messages, until it disconnects."""
        while self._left != 0:
            try:
                message = await self._websocket.receive()
            except (WebSocketDisconnect, RuntimeError):
                return
            if message["type"] == "websocket.disconnect":
                return
            item = message.get("text") or message.get("bytes") or b""
            self._sent.append(json.loads(item) if isinstance(item, str) else item)
            yield item
            if self._left is not None:
                self._left -= 1
        await self._websocket.close(1011)

    async def send(self, event: dict[str, Any]) -> None:
        if self._websocket.application_state is WebSocketState.CONNECTED:
            await self._websocket.send_text(json.dumps(event))


async def accepted(server: Server, websocket: WebSocket, key: str, wanted: str) -> _Connection | None:
    """The connection, unless the handshake is refused."""
    server.handshakes.append(dict(websocket.headers) | {"query": websocket.query_params.multi_items()})
    refusal = server.trouble.refusals.pop(0) if server.trouble.refusals else None
    if refusal is None and websocket.headers.get(key) != wanted:
        refusal = (401, f"no such key: {websocket.headers.get(key)}")
    if refusal is not None:
        await websocket.send_denial_response(Response(refusal[1], refusal[0]))
        return None
    await websocket.accept()
    return _Connection(server, websocket)


class Deepgram(Server):
    """`/v1/listen`."""

    async def listen(self, websocket: WebSocket) -> None:
        connection = await accepted(self, websocket, "authorization", f"Token {KEY}")
        if connection is None:
            return
        sound, final, said = np.zeros(0, np.int16), 0, 0
        async for item in connection.messages():
            if isinstance(item, bytes):
                sound = np.concatenate([sound, np.frombuffer(item, np.int16)])
                while len(words_in(sound[final:])) > _FINAL_WORDS:
                    end = final + end_of_words(sound[final:], _FINAL_WORDS)
                    new = words_in(sound[final:end], said)
                    await connection.send(_result(new, final, end, is_final=True))
                    final, said = end, said + len(new)
                await connection.send(
                    _result(words_in(sound[final:], said), final, len(sound), is_final=False)
                )
            elif '"Finalize"' in item and not self.trouble.unanswered:
                new = words_in(sound[final:], said)
                await connection.send(_result(new, final, len(sound), is_final=True, from_finalize=True))
                final, said = len(sound), said + len(new)
            elif '"CloseStream"' in item:
                await connection.send({"type": "Metadata", "duration": len(sound) / 16_000, "channels": 1})
                await websocket.close()
                return


def _result(
    words: list[str], begin: int, end: int, is_final: bool, from_finalize: bool = False
) -> dict[str, Any]:
    best = {"transcript": " ".join(words), "confidence": 0.9 if words else 0.0, "words": []}
    return {
        "type": "Results",
        "channel_index": [0, 1],
        "start": round(begin / 16_000, 3),
        "duration": round((end - begin) / 16_000, 3),
        "is_final": is_final,
        "speech_final": False,
        "from_finalize": from_finalize,
        "channel": {"alternatives": [best]},
    }


class Vllm(Server):
    """`/v1/realtime` of vLLM 0.32, with its ways: sound that comes before `done` is thrown away."""

    async def realtime(self, websocket: WebSocket) -> None:
        connection = await accepted(self, websocket, "authorization", f"Bearer {KEY}")
        if connection is None:
            return
        await connection.send({"type": "session.created", "id": "sess-1", "created": 1})
        known, running, sound, told = False, False, np.zeros(0, np.int16), 0
        async for item in connection.messages():
            event = json.loads(item)
            if event["type"] == "session.update":
                known = event.get("model") == "voxtral"
                if not known:
                    error = f"The model `{event.get('model')}` does not exist."
                    await connection.send({"type": "error", "error": error, "code": "model_not_found"})
            elif event["type"] == "input_audio_buffer.append":
                heard = np.frombuffer(base64.b64decode(event["audio"]), np.int16)
                if not len(heard):
                    await connection.send(
                        {"type": "error", "error": "Invalid audio data", "code": "invalid_audio"}
                    )
                sound = np.concatenate([sound, heard])
                words = words_in(sound)
                for word in words[told:] if running else []:
                    await connection.send({"type": "transcription.delta", "delta": f" {word}"})
                told = len(words) if running else told
            elif not known:
                error = {"error": "Model not validated.", "code": "model_not_validated"}
                await connection.send({"type": "error"} | error)
            elif not event.get("final"):
                running = True
            else:
                text = "".join(f" {word}" for word in words_in(sound))
                await connection.send({"type": "transcription.done", "text": text, "usage": None})
                running, sound, told = False, sound[:0], 0


class ElevenLabs(Server):
    """`/v1/text-to-speech/VOICE/stream/with-timestamps`; a voice of tones, 50 ms a character."""

    async def speech(self, request: Request) -> Response:
        body = await request.json()
        self.connections.append([request.path_params["voice"], dict(request.query_params), body])
        if self.trouble.refusals:
            status, message = self.trouble.refusals.pop(0)
            return JSONResponse({"detail": {"status": "busy", "message": message}}, status)
        if request.headers.get("xi-api-key") != KEY:
            detail = {
                "status": "invalid_api_key",
                "message": f"Invalid API key {request.headers.get('xi-api-key')}",
            }
            return JSONResponse({"detail": detail}, 401)
        rate_hz = int(request.query_params["output_format"].removeprefix("pcm_"))
        lost = self.trouble.lost_after.pop(0) if self.trouble.lost_after else None
        return StreamingResponse(self._lines(body["text"], rate_hz, lost), media_type="application/json")

    async def _lines(self, text: str, rate_hz: int, lost: int | None) -> AsyncIterator[bytes]:
        for number, begin in enumerate(range(0, len(text), 7)):
            if lost is not None and number >= lost:
                raise ConnectionError
            part = text[begin : begin + 7]
            times = [(begin + index) * 0.05 for index in range(len(part))]
            alignment = {"characters": list(part), "character_start_times_seconds": times}
            sound = base64.b64encode(tone(len(part), rate_hz)).decode()
            yield json.dumps({"audio_base64": sound, "alignment": alignment}).encode() + b"\n\n"


class Cartesia(Server):
    """`/tts/websocket`; the same voice."""

    async def websocket(self, websocket: WebSocket) -> None:
        connection = await accepted(self, websocket, "x-api-key", KEY)
        if connection is None:
            return
        speaking: dict[str, asyncio.Task[None]] = {}
        async for item in connection.messages():
            event = json.loads(item)
            context = event["context_id"]
            if event.get("cancel"):
                speaking.pop(context).cancel()
            elif event["model_id"] != "sonic-3.5":
                told = {"title": "Invalid model", "message": f"no {event['model_id']}", "status_code": 404}
                await connection.send({"type": "error", "done": True, "context_id": context} | told)
            else:
                speaking[context] = asyncio.create_task(self._speak(connection, event))

    async def _speak(self, connection: _Connection, request: dict[str, Any]) -> None:
        text, rate_hz = request["transcript"], request["output_format"]["sample_rate"]
        common = {"context_id": request["context_id"], "status_code": 206, "done": False}
        words = text.split()
        starts = [text.index(word) * 0.05 for word in words]
        told = {"words": words, "start": starts, "end": starts}
        await connection.send(common | {"type": "timestamps", "word_timestamps": told})
        for begin in range(0, len(text), 7):
            sound = base64.b64encode(tone(len(text[begin : begin + 7]), rate_hz)).decode()
            await connection.send(common | {"type": "chunk", "data": sound, "step_time": 1.0})
            await asyncio.sleep(0)
        await connection.send(common | {"type": "done", "done": True})


def tone(characters: int, rate_hz: int) -> bytes:
    """50 ms a character."""
    at_s = np.arange(characters * rate_hz // 20) / rate_hz
    return (8_000 * np.sin(2 * np.pi * 440 * at_s)).astype("<i2").tobytes()


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """It, at `server.address`."""
    match server:
        case Deepgram():
            route: Any = WebSocketRoute("/v1/listen", server.listen)
        case Vllm():
            route = WebSocketRoute("/v1/realtime", server.realtime)
        case ElevenLabs():
            path = "/v1/text-to-speech/{voice}/stream/with-timestamps"
            route = Route(path, server.speech, methods=["POST"])
        case Cartesia():
            route = WebSocketRoute("/tts/websocket", server.websocket)
    with served_at([route]) as address:
        server.address = address
        yield server
