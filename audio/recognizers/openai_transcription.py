"""Remote recognizer behind OpenAI's `POST /v1/audio/transcriptions`: OpenAI, vLLM, Speaches.

The API takes whole recordings: the growing utterance is sent again and again.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from random import random
from threading import Event
from typing import ClassVar

import httpx2

from audio.hosted.server import (
    RETRIED_STATUSES,
    OpenAIServer,
    bearer,
    describe_error,
    describe_response,
    retry_wait_s,
)
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, ExpectedSpeech, Flush, RecognizerError
from audio.recognizers.decoding.growing_window import Segment
from audio.recognizers.redecoding import Decode, RedecodingRecognizer
from audio.wav import wav_bytes

_MAX_S = 20.0


@dataclass(eq=False)
class OpenAITranscription(RedecodingRecognizer, OpenAIServer):
    """A recognizer of an OpenAI-compatible server. Arguments not listed: see OpenAIServer.

    Args:
        model: the server's model name.
        language: a code such as "en"; None lets the model detect it.
        step_s: new audio that triggers another request; each costs money.
        workers: concurrent requests.
    """

    failure: ClassVar[type[Exception]] = RecognizerError
    in_workers: ClassVar[bool] = False
    """False, as `workers` limits the concurrent requests of the whole server."""

    _: KW_ONLY
    model: str = "gpt-4o-mini-transcribe"
    language: str | None = "en"
    step_s: float = 1.0
    workers: int = 16

    def __post_init__(self) -> None:
        super().__init__("openai", self._connect, self.step_s, _MAX_S, self.workers)
        super().__post_init__()
        self.takes_expected = True  # phrases of a call
        self._client: httpx2.Client | None = None

    async def close(self) -> None:
        """Close the connections after running requests; a second call does nothing."""
        await super().close()
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connect(self) -> _Endpoint:
        self._client = httpx2.Client(**self.client_options(bearer(self.key())))
        language = {"language": self.language} if self.language else {}
        fields = {"model": self.model, "response_format": "json", **language}
        return _Endpoint(self, self._client, fields)


class _Endpoint:
    """The endpoint as a DecodingModel. Raises RecognizerError."""

    def __init__(self, server: OpenAIServer, client: httpx2.Client, fields: dict[str, str]) -> None:
        self._server = server
        self._client = client
        self._fields = fields

    def open(self) -> Decode:
        """Return the function that transcribes one utterance."""
        return self._transcribe

    def open_in(self, expected: ExpectedSpeech) -> Decode:
        """Return the function that transcribes one utterance with its call's phrases in the prompt."""
        return partial(self._transcribe, phrases=", ".join((*expected.phrases, *expected.words)))

    def _transcribe(
        self, sound: Samples, prompt: str, abandoned: Event, flush: Flush | None, phrases: str = ""
    ) -> list[Segment]:
        """Send a request, with retries. A request in progress is not cancelled. phrases: for the prompt, in
        which Whisper and its successors look for words
        (https://developers.openai.com/api/docs/guides/speech-to-text#prompting).
        """
        prompt = " ".join(text for text in (phrases, prompt) if text)
        file = ("utterance.wav", wav_bytes(sound, SAMPLE_RATE_HZ), "audio/wav")
        fields = self._fields | ({"prompt": prompt} if prompt else {})
        failures = 0
        while True:
            try:
                response = self._client.post("audio/transcriptions", data=fields, files={"file": file})
            except httpx2.HTTPError as error:
                reason, retried = describe_error(error), True
            else:
                if response.status_code == 200:
                    text = self._text(response)
                    return [Segment(text, len(sound) / SAMPLE_RATE_HZ)] if text else []
                reason = describe_response(response.status_code, response.text)
                retried = response.status_code in RETRIED_STATUSES
            failures += 1
            if (
                not retried
                or failures > self._server.retries
                or abandoned.wait(retry_wait_s(failures, random))
            ):
                raise self._server.failed(reason)

    def _text(self, response: httpx2.Response) -> str:
        try:
            return " ".join(str.split(response.json()["text"]))
        except (ValueError, KeyError, TypeError) as error:
            answer = describe_response(response.status_code, response.text)
            raise self._server.failed(f"it answered {answer!r}; allowed: JSON with a text") from error
