"""Behaviour that all engines behind OpenAI's audio API share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sounds import chunks, recognized, voice_like
from speech_api import KEY, SpeechApi, serving

from audio.hosted.server import OpenAIServer
from audio.recognizers.openai_transcription import OpenAITranscription
from audio.synthesizers.openai_speech import OpenAISpeech


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpeechApi]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(SpeechApi()) as api:
        yield api


@pytest.mark.parametrize("engine", [OpenAISpeech, OpenAITranscription])
def test_fewer_than_no_further_tries_are_refused(engine: type[OpenAIServer]) -> None:
    with pytest.raises(ValueError, match="retries is -1; allowed: 0 or more"):
        engine(retries=-1)


async def test_an_address_may_end_in_a_slash(api: SpeechApi) -> None:
    recognizer = OpenAITranscription(base_url=f"{api.base_url}/")
    synthesizer = OpenAISpeech(base_url=f"{api.base_url}/")
    try:
        await recognizer.start()
        await synthesizer.start()
        [*_, last] = await recognized(recognizer, chunks(voice_like(30)))
        assert last.text == "hello"
        assert [speech async for speech in synthesizer.speak("hello")]
    finally:
        await recognizer.close()
        await synthesizer.close()
