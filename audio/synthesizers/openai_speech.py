"""Remote voice behind OpenAI's `POST /v1/audio/speech`: OpenAI, vLLM-Omni, Kokoro-FastAPI.

Raw PCM is requested and streamed on. The API has no word timings.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import httpx2

from audio.hosted.server import OpenAIServer, bearer
from audio.synthesizers import Speech
from audio.synthesizers.hosted_voice import HttpVoice, PcmBytes
from audio.synthesizers.voices import VoiceSettings

_SLOWEST, _FASTEST = 0.25, 4.0
"""Bounds of the API."""
_VOICES = ("alloy", "ash", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer")
_NEWER_VOICES = ("ballad", "cedar", "marin", "verse")
"""OpenAI's voices; tts-1 and tts-1-hd have no newer ones
(https://platform.openai.com/docs/guides/text-to-speech#voice-options).
"""
_OPENAI_HOSTS = ("api.openai.com", ".api.openai.com", ".openai.azure.com")


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

    def _server_voices(self) -> tuple[tuple[str, ...], str]:
        """Return OpenAI's voices for OpenAI's own servers; for others the configured one only."""
        if not (httpx2.URL(self.base_url).host or "").endswith(_OPENAI_HOSTS):
            return (self.voice,), ""
        newer = () if self.model.startswith("tts-1") else _NEWER_VOICES
        return (*_VOICES, *newer), "voice_[A-Za-z0-9]+"

    def _request(self, text: str, settings: VoiceSettings) -> tuple[str, dict[str, Any]]:
        speed = min(max(self.speed * settings.speed, _SLOWEST), _FASTEST)
        # a custom voice is an object: https://platform.openai.com/docs/api-reference/audio/createSpeech
        name = settings.voice or self.voice
        voice = {"id": name} if name.startswith("voice_") else name
        request = {"model": self.model, "voice": voice, "input": text, "response_format": "pcm"}
        spoken = {"instructions": self.instructions} if self.instructions else {}
        return "audio/speech", request | spoken | ({"speed": speed} if speed != 1.0 else {})

    def _is_error(self, response: httpx2.Response) -> bool:
        return super()._is_error(response) or "json" in response.headers.get("content-type", "")

    async def _stream_audio(self, text: str, response: httpx2.Response) -> AsyncGenerator[Speech, None]:
        pcm = PcmBytes()
        async for chunk in response.aiter_bytes():
            yield Speech(pcm.push(chunk))
