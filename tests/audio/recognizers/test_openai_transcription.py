"""Recognition by OpenAI's `/v1/audio/transcriptions`; what all recognizers do is in test_recognizers.py."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from sounds import chunks, recognized
from speech_api import KEY, SpeechApi, serving

from audio.recognizers import ExpectedSpeech, Flush, RecognizerError, recognize_expecting
from audio.recognizers.openai_transcription import OpenAITranscription
from audio.wav import wav_bytes

SOUND = np.full(32_000, 500, np.int16)


def seconds_of(sound: np.ndarray) -> str:
    return f"{len(sound) / 16_000:.0f} seconds"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpeechApi]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(SpeechApi(seconds_of)) as api:
        yield api


@asynccontextmanager
async def hearing(api: SpeechApi, **options: Any) -> AsyncIterator[OpenAITranscription]:
    recognizer = OpenAITranscription(base_url=api.base_url, **options)
    await recognizer.start()
    api.requests.clear()
    try:
        yield recognizer
    finally:
        await recognizer.close()


async def test_the_growing_utterance_is_sent_again_with_what_is_asked_for(api: SpeechApi) -> None:
    async with hearing(api, model="whisper-1", language="de") as recognizer:
        hypotheses = await recognized(recognizer, chunks(SOUND, Flush(), SOUND))
    assert [hypothesis.text for hypothesis in hypotheses if hypothesis.settled] == ["2 seconds", "4 seconds"]
    wanted = {"model": "whisper-1", "response_format": "json", "language": "de"}
    assert all(request == wanted for request in api.requests)


async def test_phrases_of_the_call_are_in_the_prompt(api: SpeechApi) -> None:
    expected = ExpectedSpeech(phrases=("Zyntara", "Oak Hollow"), words=("booking",))
    async with hearing(api) as recognizer:
        async for _ in recognize_expecting(recognizer, chunks(SOUND, Flush()), expected):
            pass
    assert {request["prompt"] for request in api.requests} == {"Zyntara, Oak Hollow, booking"}


async def test_the_openai_sdk_is_answered_the_same_by_this_server(api: SpeechApi) -> None:
    sdk = AsyncOpenAI(api_key=KEY, base_url=api.base_url)
    file = ("utterance.wav", wav_bytes(SOUND, 16_000), "audio/wav")
    answer = await sdk.audio.transcriptions.create(model="whisper-1", file=file)
    assert answer.text == "2 seconds"


async def test_a_server_that_is_busy_is_asked_again(api: SpeechApi) -> None:
    async with hearing(api) as recognizer:
        api.fail = [(503, "try again")]
        [*_, last] = await recognized(recognizer, chunks(SOUND))
    assert last.text == "2 seconds"


@pytest.mark.parametrize("status", [400, 429])
async def test_what_the_server_refuses_is_an_error_with_its_words(api: SpeechApi, status: int) -> None:
    async with hearing(api) as recognizer:
        api.fail = [(status, "not today")] * 2
        with pytest.raises(RecognizerError, match=f"{status}: .*not today"):
            await recognized(recognizer, chunks(SOUND))


async def test_a_wrong_key_is_told_at_start(api: SpeechApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with pytest.raises(RecognizerError, match=r"401: .*Incorrect API key"):
        await OpenAITranscription(base_url=api.base_url).start()


async def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(RecognizerError, match="OPENAI_API_KEY"):
        await OpenAITranscription().start()


async def test_a_server_that_is_not_there_is_named() -> None:
    recognizer = OpenAITranscription(base_url="http://127.0.0.1:9/v1", api_key_env="")
    with pytest.raises(RecognizerError, match=r"http://127\.0\.0\.1:9/v1"):
        await recognizer.start()
