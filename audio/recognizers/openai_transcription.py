"""Any server that hears by OpenAI's `POST /v1/audio/transcriptions`: OpenAI itself, vLLM, Speaches.

The API takes whole recordings: the growing utterance is sent again, as for a model that does not stream.
"""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from threading import Event

import httpx2

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, RecognizerError
from audio.recognizers.decoding.growing_window import Segment
from audio.recognizers.redecoding import Decode, RedecodingRecognizer
from audio.wav import wav_bytes

_MAX_S = 20.0
_RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_MAX_MESSAGE = 200
"""Characters of what the server says of an error."""


@dataclass(eq=False)
class OpenAITranscription(RedecodingRecognizer):
    """A recognizer behind an HTTP endpoint, asked with the growing sound of each utterance.

    model: its name there. base_url: the address up to and with `/v1`. api_key_env: the variable of the
    environment with the key; "" for a server that wants none. language: a code such as "en"; None lets the
    model find out. step_s: new sound that is worth another request, which each costs. workers: requests at
    once. timeout_s: longest wait for an answer. retries: further tries where there is none.
    """

    model: str = "gpt-4o-mini-transcribe"
    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    language: str | None = "en"
    step_s: float = 1.0
    workers: int = 16
    connect_timeout_s: float = 2.0
    timeout_s: float = 8.0
    retries: int = 1

    def __post_init__(self) -> None:
        super().__init__("openai", self._connect, self.step_s, _MAX_S, self.workers)
        self._client: httpx2.Client | None = None

    async def close(self) -> None:
        """Close the connections once running requests are through; a second call does nothing."""
        await super().close()
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connect(self) -> _Server:
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else "none"
        if not key:
            variable = f"the environment variable {self.api_key_env} (api_key_env) is not set"
            raise RecognizerError(f"{self.base_url}: {variable}")
        self._client = httpx2.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx2.Timeout(self.timeout_s, connect=self.connect_timeout_s),
        )
        language = {"language": self.language} if self.language else {}
        fields = {"model": self.model, "response_format": "json", **language}
        return _Server(self._client, fields, self.retries)


class _Server:
    """The endpoint, as a model that decodes. Its errors are RecognizerError."""

    def __init__(self, client: httpx2.Client, fields: dict[str, str], retries: int) -> None:
        self._client = client
        self._fields = fields
        self._retries = retries

    def open(self) -> Decode:
        """What transcribes one utterance."""
        return self._transcribe

    def _transcribe(self, sound: Samples, prompt: str, abandoned: Event) -> list[Segment]:
        """One request; once sent, it is not given up."""
        file = ("utterance.wav", wav_bytes(sound, SAMPLE_RATE_HZ), "audio/wav")
        fields = self._fields | ({"prompt": prompt} if prompt else {})
        for attempt in range(self._retries + 1):
            last = attempt == self._retries or abandoned.is_set()
            try:
                response = self._client.post("audio/transcriptions", data=fields, files={"file": file})
            except httpx2.HTTPError as error:
                if last:
                    raise self._failed(str(error) or type(error).__name__) from error
                continue
            if response.status_code == 200:
                text = self._text(response)
                return [Segment(text, len(sound) / SAMPLE_RATE_HZ)] if text else []
            if last or response.status_code not in _RETRIED_STATUSES:
                raise self._failed(f"{response.status_code}: {response.text[:_MAX_MESSAGE]}")
        raise AssertionError("the last attempt returns or raises")

    def _text(self, response: httpx2.Response) -> str:
        try:
            return " ".join(str.split(response.json()["text"]))
        except (ValueError, KeyError, TypeError) as error:
            answer = f"it answered {response.text[:_MAX_MESSAGE]!r}; allowed: JSON with a text"
            raise self._failed(answer) from error

    def _failed(self, reason: str) -> RecognizerError:
        return RecognizerError(f"{self._client.base_url}: {reason}")
