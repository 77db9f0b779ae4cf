"""A server of OpenAI's speech endpoints, as clients see them, around engines of the test."""

from __future__ import annotations

import asyncio
import threading
import wave
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
import uvicorn
from prompt_server import PromptServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from audio.pcm import Samples

KEY = "sk-test"
RATE_HZ = 24_000
VOICES = ("alloy", "marin")


@dataclass
class SpeechApi:
    """The endpoints. hears: gives the words of 16 kHz sound. fail: status and message of the next answers."""

    hears: Callable[[Samples], str] = lambda sound: "hello"
    requests: list[dict[str, Any]] = field(default_factory=list)
    fail: list[tuple[int, str]] = field(default_factory=list)
    breaks_off: bool = False
    base_url: str = ""

    async def speech(self, request: Request) -> Response:
        """`POST /v1/audio/speech`"""
        body = await request.json()
        if (refused := self._refused(request, body)) is not None:
            return refused
        if body.get("response_format", "mp3") != "pcm":
            return error(400, "only pcm is made here")
        if body["voice"] not in VOICES:
            return error(400, f"Input should be {', '.join(VOICES)}")
        return StreamingResponse(self._sound(body["input"]), media_type="audio/pcm")

    async def transcriptions(self, request: Request) -> Response:
        """`POST /v1/audio/transcriptions`"""
        async with request.form() as form:
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
            if (refused := self._refused(request, fields)) is not None:
                return refused
            upload = form["file"]
            assert not isinstance(upload, str)
            sound = await upload.read()
        if not sound.startswith(b"RIFF"):
            return error(400, "Invalid file format.")
        usage = {"type": "duration", "seconds": 1}
        text = await asyncio.to_thread(self.hears, samples_of(sound))
        return JSONResponse({"text": text, "usage": usage})

    def _refused(self, request: Request, fields: dict[str, Any]) -> Response | None:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return error(401, "Incorrect API key provided")
        if "model" not in fields:
            return error(400, "you must provide a model parameter")
        self.requests.append(fields)
        return error(*self.fail.pop(0)) if self.fail else None

    async def _sound(self, text: str) -> AsyncIterator[bytes]:
        """A tone for each character, then quiet, in chunks that end in the middle of a sample."""
        tone = 8_000 * np.sin(2 * np.pi * 440 * np.arange(len(text) * RATE_HZ // 20) / RATE_HZ)
        sound = np.concatenate([tone, np.zeros(RATE_HZ // 2)]).astype("<i2").tobytes()
        for begin in range(0, len(sound), 4_801):
            yield sound[begin : begin + 4_801]
            if self.breaks_off:
                raise ConnectionError


def error(status: int, message: str) -> Response:
    """Return an error in the API's form."""
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status)


def samples_of(wav: bytes) -> Samples:
    """The sound of a WAV file."""
    with wave.open(BytesIO(wav)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)


@contextmanager
def serving(api: SpeechApi) -> Iterator[SpeechApi]:
    """The server, in a thread, at `api.base_url`."""
    routes = [
        Route("/v1/audio/speech", api.speech, methods=["POST"]),
        Route("/v1/audio/transcriptions", api.transcriptions, methods=["POST"]),
    ]
    with served_at(routes) as address:
        api.base_url = f"http://{address}/v1"
        yield api


@contextmanager
def served_at(routes: list[Any]) -> Iterator[str]:
    """Routes on a port of this machine, in a thread; yields host and port."""
    app = Starlette(routes=routes)
    listening = uvicorn.Config(app, port=0, log_level="critical").bind_socket()
    listening.listen()  # from now on, and not when the thread gets to it
    server = PromptServer(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
