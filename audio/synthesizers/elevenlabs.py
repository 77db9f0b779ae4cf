"""ElevenLabs' streamed speech, `POST /v1/text-to-speech/VOICE/stream/with-timestamps`.

A line of JSON a piece, over HTTP, as a fragment is all there when it is spoken, and the client keeps its
connections open; with the times of the text's characters, so that an interruption knows its word.
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

_NEAR = 8
"""Characters within which the next one of the text is looked for."""


@dataclass(eq=False)
class ElevenLabsSynthesizer(HttpVoice):
    """ElevenLabs.

    voice, model: their names there, the voice's id. language: an ISO 639 code for models that take one; ""
    leaves it to the text. settings: of the voice, such as { stability = 0.5, speed = 1.1 }. rate_hz: 16,000,
    22,050, 24,000 or, with some plans, 44,100. The others: see HostedServer.
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

    def _request(self, text: str, speed: float) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {"text": text, "model_id": self.model}
        body |= {"language_code": self.language} if self.language else {}
        body |= {"voice_settings": self.settings} if self.settings else {}
        voice = quote(self.voice, safe="")
        return f"text-to-speech/{voice}/stream/with-timestamps?output_format=pcm_{self.rate_hz}", body

    async def _speeches(self, text: str, response: httpx2.Response) -> AsyncGenerator[Speech, None]:
        pcm, words = PcmBytes(), SpelledWords(text, self.rate_hz)
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


class SpelledWords:
    """Where words begin, out of the times of a text's characters, as they come. Pure."""

    def __init__(self, text: str, rate_hz: int) -> None:
        self._text = text
        self._starts = frozenset(text_word_starts(text))
        self._rate_hz = rate_hz
        self._next = 0

    def push(self, alignment: dict[str, Any]) -> tuple[WordTiming, ...]:
        """The words that begin with one of these characters."""
        timings = []
        characters = alignment.get("characters", ())
        times = alignment.get("character_start_times_seconds", ())
        for character, at_s in zip(characters, times, strict=True):
            place = self._text.find(character, self._next, self._next + _NEAR)
            if place < 0:
                continue  # a blank of its own, or a letter that is written otherwise
            self._next = place + 1
            if place in self._starts:
                timings.append(WordTiming(place, round(at_s * self._rate_hz)))
        return tuple(timings)
