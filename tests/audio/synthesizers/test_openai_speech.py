"""Synthesis by OpenAI's `/v1/audio/speech`: streamed, and retried while nothing is said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from speech_api import KEY, RATE_HZ, SpeechApi, serving

from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.openai_speech import OpenAISpeech

TEXT = "Breakfast starts early, dear guest!"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpeechApi]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(SpeechApi()) as api:
        yield api


@asynccontextmanager
async def speaking(api: SpeechApi, **options: Any) -> AsyncIterator[OpenAISpeech]:
    synthesizer = OpenAISpeech(base_url=api.base_url, **options)
    await synthesizer.start()
    try:
        yield synthesizer
    finally:
        await synthesizer.close()
        await synthesizer.close()


async def spoken(synthesizer: OpenAISpeech, text: str = TEXT) -> list[Speech]:
    return [speech async for speech in synthesizer.speak(text)]


async def test_a_text_is_spoken_in_pieces_as_they_come(api: SpeechApi) -> None:
    async with speaking(api, voice="marin", instructions="Be warm.", speed=1.2) as synthesizer:
        speeches = await spoken(synthesizer)
    assert len(speeches) > 1
    assert all(speech.samples.dtype == np.int16 and len(speech.samples) for speech in speeches)
    (request,) = api.requests
    assert request == {
        "model": "gpt-4o-mini-tts",
        "voice": "marin",
        "input": TEXT,
        "response_format": "pcm",
        "instructions": "Be warm.",
        "speed": 1.2,
    }


async def test_the_sound_is_the_servers_with_a_short_pause_at_its_end(api: SpeechApi) -> None:
    async with speaking(api) as synthesizer:
        sound = np.concatenate([speech.samples for speech in await spoken(synthesizer)]).astype(int)
    voiced = np.flatnonzero(np.abs(sound) >= 100)
    assert abs(int(voiced[-1]) - len(TEXT) * RATE_HZ // 20) < 100
    assert len(sound) - voiced[-1] <= 0.15 * RATE_HZ
    assert 7_000 < np.abs(sound).max() <= 8_000


async def test_the_openai_sdk_gets_the_same_sound_of_this_server(api: SpeechApi) -> None:
    sdk = AsyncOpenAI(api_key=KEY, base_url=api.base_url)
    speech = sdk.audio.speech.with_streaming_response
    async with speech.create(model="tts-1", voice="alloy", input=TEXT, response_format="pcm") as response:
        sound = np.frombuffer(await response.read(), "<i2")
    async with speaking(api) as synthesizer:
        ours = np.concatenate([speech.samples for speech in await spoken(synthesizer)])
    assert np.array_equal(sound[: len(ours)], ours)


@pytest.mark.parametrize("text", ["", "  \n", "..."])
async def test_a_text_without_words_asks_for_nothing(api: SpeechApi, text: str) -> None:
    async with speaking(api) as synthesizer:
        assert await spoken(synthesizer, text) == []
    assert not api.requests


async def test_texts_at_once_do_not_mix_and_closing_leaves_it_free(api: SpeechApi) -> None:
    async with speaking(api) as synthesizer:
        async with aclosing(synthesizer.speak(TEXT * 20)) as speeches:
            await anext(speeches)
        texts = [TEXT, "Good evening."]
        together = await asyncio.gather(*(spoken(synthesizer, text) for text in texts))
    lengths = [sum(len(speech.samples) for speech in speeches) for speeches in together]
    assert [round(length / RATE_HZ * 20) > len(text) for length, text in zip(lengths, texts, strict=True)]
    assert lengths[0] > lengths[1]


async def test_a_server_that_is_busy_is_asked_again(api: SpeechApi) -> None:
    api.fail = [(503, "try again")]
    async with speaking(api) as synthesizer:
        assert await spoken(synthesizer)
    assert len(api.requests) == 2


async def test_a_server_that_stays_busy_is_an_error_with_its_words(api: SpeechApi) -> None:
    api.fail = [(503, "no room today")] * 2
    async with speaking(api) as synthesizer:
        with pytest.raises(SynthesizerError, match=r"503: .*no room today"):
            await spoken(synthesizer)


async def test_what_cannot_work_is_not_asked_again(api: SpeechApi) -> None:
    async with speaking(api, voice="nobody") as synthesizer:
        with pytest.raises(SynthesizerError, match=r"400: .*alloy"):
            await spoken(synthesizer)
    assert len(api.requests) == 1


async def test_sound_that_breaks_off_is_an_error_and_is_not_said_twice(api: SpeechApi) -> None:
    api.breaks_off = True
    async with speaking(api) as synthesizer:
        with pytest.raises(SynthesizerError, match="broke off"):
            await spoken(synthesizer)
    assert len(api.requests) == 1


async def test_a_server_that_is_not_there_is_named() -> None:
    synthesizer = OpenAISpeech(base_url="http://127.0.0.1:9/v1", api_key_env="", retries=0)
    await synthesizer.start()
    with pytest.raises(SynthesizerError, match=r"http://127\.0\.0\.1:9/v1"):
        await spoken(synthesizer)
    await synthesizer.close()


async def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SynthesizerError, match="OPENAI_API_KEY"):
        await OpenAISpeech().start()


async def test_without_start_it_says_so(api: SpeechApi) -> None:
    with pytest.raises(SynthesizerError, match="not started"):
        await spoken(OpenAISpeech(base_url=api.base_url))
