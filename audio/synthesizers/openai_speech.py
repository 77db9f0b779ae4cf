"""Remote voice behind OpenAI's `POST /v1/audio/speech`: OpenAI, vLLM-Omni, Kokoro-FastAPI.

Raw PCM is requested and streamed on. The API has no word timings.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import httpx2

from audio.hosted.server import OpenAIServer, bearer
from audio.synthesizers import Speech
from audio.synthesizers.hosted_voice import HttpVoice, PcmBytes

_SLOWEST, _FASTEST = 0.25, 4.0
"""Bounds of the API."""


@dataclass(eq=False)
class OpenAISpeech(OpenAIServer, HttpVoice):
    """A voice of an OpenAI-compatible server. Arguments not listed: see HostedServer.

    Args:
        model: the server's model name.
        voice: the server's voice name.
        instructions: how to speak, for models that take it.
        speed: 1.0 is the voice's normal speed.
        rate_hz: sample rate of the PCM that the server sends.
    """

    _: KW_ONLY
    model: str = "gpt-4o-mini-tts"
    voice: str = "alloy"
    instructions: str = ""
    speed: float = 1.0

    def _headers(self, key: str) -> dict[str, str]:
        return bearer(key)

    takes_speed: ClassVar[bool] = True

    def _request(self, text: str, speed: float) -> tuple[str, dict[str, Any]]:
        speed = min(max(self.speed * speed, _SLOWEST), _FASTEST)
        request = {"model": self.model, "voice": self.voice, "input": text, "response_format": "pcm"}
        spoken = {"instructions": self.instructions} if self.instructions else {}
        return "audio/speech", request | spoken | ({"speed": speed} if speed != 1.0 else {})

    def _is_error(self, response: httpx2.Response) -> bool:
        return super()._is_error(response) or "json" in response.headers.get("content-type", "")

    async def _stream_audio(self, text: str, response: httpx2.Response) -> AsyncGenerator[Speech, None]:
        pcm = PcmBytes()
        async for chunk in response.aiter_bytes():
            yield Speech(pcm.push(chunk))
