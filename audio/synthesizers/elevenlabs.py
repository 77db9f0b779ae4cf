"""ElevenLabs' streaming TTS, `POST /v1/text-to-speech/VOICE/stream/with-timestamps`.

The response is one line of JSON a chunk, with the start time of each character, so that an interruption knows
its word. HTTP suffices, as a fragment's text is complete and the client keeps its connections open.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator
from dataclasses import KW_ONLY, dataclass
from typing import Any
from urllib.parse import quote

import httpx2

from audio.synthesizers import Speech, WordTiming
from audio.synthesizers.hosted_voice import HttpVoice, PcmBytes
from audio.synthesizers.pieces import text_word_starts
from audio.synthesizers.voices import VoiceSettings

_SLOWEST, _FASTEST = 0.7, 1.2
"""Bounds of the API (https://elevenlabs.io/docs/api-reference/voices/settings/get)."""
_VOICE_ID = "[A-Za-z0-9]{20}"
_SEARCH_AHEAD = 8
"""Characters of the text to search ahead for the next aligned one."""


@dataclass(eq=False)
class ElevenLabsSynthesizer(HttpVoice):
    """ElevenLabs' voices. Arguments not listed: see HostedServer.

    Args:
        voice: the voice's id.
        model: ElevenLabs' model name.
        language: ISO 639 code, for models that take one; "" lets the model detect it.
        settings: voice settings, such as { stability = 0.5, speed = 1.1 }.
        rate_hz: 16,000, 22,050, 24,000 or, with some plans, 44,100.
    """

    base_url: str = "https://api.elevenlabs.io/v1"
    voice: str = "21m00Tcm4TlvDq8ikWAM"
    _: KW_ONLY
    api_key_env: str = "ELEVENLABS_API_KEY"
    model: str = "eleven_flash_v2_5"
    language: str = ""
    settings: dict[str, float] | None = None

    def _headers(self, key: str) -> dict[str, str]:
        return {"xi-api-key": key}

    def _server_voices(self) -> tuple[tuple[str, ...], str]:
        return (self.voice,), _VOICE_ID

    def _request(self, text: str, settings: VoiceSettings) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {"text": text, "model_id": self.model}
        body |= {"language_code": self.language} if self.language else {}
        voice_settings = dict(self.settings or {})
        if settings.speed != 1.0:
            speed = voice_settings.get("speed", 1.0) * settings.speed
            voice_settings["speed"] = min(max(speed, _SLOWEST), _FASTEST)
        body |= {"voice_settings": voice_settings} if voice_settings else {}
        voice = quote(settings.voice or self.voice, safe="")
        return f"text-to-speech/{voice}/stream/with-timestamps?output_format=pcm_{self.rate_hz}", body

    async def _stream_audio(self, text: str, response: httpx2.Response) -> AsyncGenerator[Speech, None]:
        pcm, words = PcmBytes(), CharacterAlignment(text, self.rate_hz)
        async for line in response.aiter_lines():
            if not line.strip():
                continue
            try:
                piece = json.loads(line)
                samples = pcm.push(base64.b64decode(piece.get("audio_base64") or ""))
                timings = words.push(piece.get("alignment") or {})
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                allowed = "allowed: JSON with audio_base64 and alignment"
                raise self.failed(f"it answered {line[:200]!r}; {allowed}") from error
            yield Speech(samples, timings)


class CharacterAlignment:
    """Converts the start times of a text's characters into word timings."""

    def __init__(self, text: str, rate_hz: int) -> None:
        self._text = text
        self._starts = frozenset(text_word_starts(text))
        self._rate_hz = rate_hz
        self._next = 0

    def push(self, alignment: dict[str, Any]) -> tuple[WordTiming, ...]:
        """Return the timings of words that begin in this alignment. Raises ValueError if its lists differ in
        length.
        """
        timings = []
        characters = alignment.get("characters", ())
        times = alignment.get("character_start_times_seconds", ())
        for character, at_s in zip(characters, times, strict=True):
            index = self._text.find(character, self._next, self._next + _SEARCH_AHEAD)
            if index < 0:
                continue  # a blank that the text does not have, or a normalized letter
            self._next = index + 1
            if index in self._starts:
                timings.append(WordTiming(index, round(at_s * self._rate_hz)))
        return tuple(timings)
