"""Synthesis by OpenAI's `/v1/audio/speech`: streamed, and retried while nothing is said."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from speaking import at_work, spoken
from speech_api import KEY, RATE_HZ, SpeechApi, serving

from audio.pcm import Samples
from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.openai_speech import OpenAISpeech
from audio.synthesizers.voices import VoiceSettings

TEXT = "Breakfast starts early, dear guest!"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpeechApi]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(SpeechApi()) as api:
        yield api


def made(api: SpeechApi, **options: Any) -> OpenAISpeech:
    return OpenAISpeech(base_url=api.base_url, **options)


def sound_of(speeches: list[Speech]) -> Samples:
    return np.concatenate([speech.samples for speech in speeches])


async def test_a_text_is_spoken_in_pieces_as_they_come(api: SpeechApi) -> None:
    async with at_work(made(api, voice="marin", instructions="Be warm.", speed=1.2)) as synthesizer:
        speeches = await spoken(synthesizer, TEXT)
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
    async with at_work(made(api)) as synthesizer:
        sound = sound_of(await spoken(synthesizer, TEXT)).astype(int)
    voiced = np.flatnonzero(np.abs(sound) >= 100)
    assert abs(int(voiced[-1]) - len(TEXT) * RATE_HZ // 20) < 100
    assert len(sound) - voiced[-1] <= 0.15 * RATE_HZ
    assert 7_000 < np.abs(sound).max() <= 8_000


async def test_the_openai_sdk_gets_the_same_sound_of_this_server(api: SpeechApi) -> None:
    sdk = AsyncOpenAI(api_key=KEY, base_url=api.base_url)
    speech = sdk.audio.speech.with_streaming_response
    async with speech.create(model="tts-1", voice="alloy", input=TEXT, response_format="pcm") as response:
        sound = np.frombuffer(await response.read(), "<i2")
    async with at_work(made(api)) as synthesizer:
        ours = sound_of(await spoken(synthesizer, TEXT))
    assert np.array_equal(sound[: len(ours)], ours)


@pytest.mark.parametrize("text", ["", "  \n", "..."])
async def test_a_text_without_words_asks_for_nothing(api: SpeechApi, text: str) -> None:
    async with at_work(made(api)) as synthesizer:
        assert await spoken(synthesizer, text) == []
    assert not api.requests


async def test_texts_at_once_do_not_mix(api: SpeechApi) -> None:
    texts = [TEXT, "Good evening."]
    async with at_work(made(api)) as synthesizer:
        together = await asyncio.gather(*(spoken(synthesizer, text) for text in texts))
        alone = [await spoken(synthesizer, text) for text in texts]
    for one, other in zip(together, alone, strict=True):
        assert np.array_equal(sound_of(one), sound_of(other))


async def test_closing_in_the_middle_leaves_the_voice_free(api: SpeechApi) -> None:
    async with at_work(made(api)) as synthesizer:
        async with aclosing(synthesizer.speak(TEXT * 20)) as speeches:
            await anext(speeches)
        assert await spoken(synthesizer, TEXT)


async def test_a_server_that_is_busy_is_asked_again(api: SpeechApi) -> None:
    api.fail = [(503, "try again")]
    async with at_work(made(api)) as synthesizer:
        assert await spoken(synthesizer, TEXT)
    assert len(api.requests) == 2


async def test_a_server_that_stays_busy_is_an_error_with_its_words(api: SpeechApi) -> None:
    api.fail = [(503, "no room today")] * 2
    async with at_work(made(api)) as synthesizer:
        with pytest.raises(SynthesizerError, match=r"503: .*no room today"):
            await spoken(synthesizer, TEXT)


async def test_what_cannot_work_is_not_asked_again(api: SpeechApi) -> None:
    async with at_work(made(api, voice="nobody")) as synthesizer:
        with pytest.raises(SynthesizerError, match=r"400: .*alloy"):
            await spoken(synthesizer, TEXT)
    assert len(api.requests) == 1


async def test_sound_that_breaks_off_is_an_error_and_is_not_said_twice(api: SpeechApi) -> None:
    api.breaks_off = True
    async with at_work(made(api)) as synthesizer:
        with pytest.raises(SynthesizerError, match="broke off"):
            await spoken(synthesizer, TEXT)
    assert len(api.requests) == 1


async def test_a_server_that_is_not_there_is_named() -> None:
    synthesizer = OpenAISpeech(base_url="http://127.0.0.1:9/v1", api_key_env="", retries=0)
    await synthesizer.start()
    with pytest.raises(SynthesizerError, match=r"http://127\.0\.0\.1:9/v1"):
        await spoken(synthesizer, TEXT)
    await synthesizer.close()


async def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SynthesizerError, match="OPENAI_API_KEY"):
        await OpenAISpeech().start()


async def test_without_start_it_says_so(api: SpeechApi) -> None:
    with pytest.raises(SynthesizerError, match="not started"):
        await spoken(made(api), TEXT)


async def test_another_server_is_asked_only_for_voices_of_its_table(api: SpeechApi) -> None:
    async with at_work(made(api, voice="alloy", voices={"verse": "marin"})) as synthesizer:
        for name in ("", "verse", "marin", "nova"):
            await spoken(synthesizer, "Hello.", VoiceSettings(name, 1.1))
    assert [request["voice"] for request in api.requests] == ["alloy", "marin", "marin", "alloy"]
    assert {request["speed"] for request in api.requests} == {1.1}


@pytest.mark.parametrize(
    ("model", "voice", "known"),
    [
        ("gpt-4o-mini-tts", "marin", True),
        ("gpt-4o-mini-tts", "voice_1234", True),
        ("tts-1", "nova", True),
        ("tts-1", "marin", False),
        ("gpt-4o-mini-tts", "af_heart", False),
    ],
)
def test_openai_has_the_voices_of_its_model(model: str, voice: str, known: bool) -> None:
    assert OpenAISpeech(model=model).known_voices.has(voice) is known
