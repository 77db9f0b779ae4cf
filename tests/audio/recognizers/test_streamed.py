"""Recognizers over a WebSocket whose server fails; the conformance test is test_recognizers.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from sounds import chunks, recognized, voice_like
from streamed_speech import KEY, Deepgram, Server, Vllm, serving

from audio.recognizers import Flush, RecognizerError
from audio.recognizers.deepgram import DeepgramRecognizer
from audio.recognizers.streamed import StreamedRecognizer
from audio.recognizers.vllm_realtime import VllmRecognizer

SOUND = voice_like(60)

Make = Callable[..., StreamedRecognizer]


@pytest.fixture(params=[Deepgram, Vllm])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("SPEECH_KEY", KEY)
    with serving(request.param()) as server:
        yield server


@pytest.fixture
def make(server: Server) -> Make:
    def made(**options: object) -> StreamedRecognizer:
        address, own = f"http://{server.address}/v1", {"api_key_env": "SPEECH_KEY"} | options
        if isinstance(server, Deepgram):
            return DeepgramRecognizer(address, **own)  # type: ignore[arg-type]
        return VllmRecognizer(address, **{"model": "voxtral"} | own)  # type: ignore[arg-type]

    return made


async def last_words(recognizer: StreamedRecognizer, *parts: np.ndarray | Flush) -> str:
    return (await recognized(recognizer, chunks(*parts)))[-1].text


async def test_a_lost_connection_costs_no_word(server: Server, make: Make) -> None:
    recognizer = make()
    await recognizer.start()
    undisturbed = len((await last_words(recognizer, SOUND, Flush(), SOUND)).split())
    server.trouble.lost_after = [40]
    assert len((await last_words(recognizer, SOUND, Flush(), SOUND)).split()) == undisturbed
    assert undisturbed > 4


async def test_connections_that_are_lost_again_and_again_are_an_error(server: Server, make: Make) -> None:
    recognizer = make(retries=1)
    await recognizer.start()
    server.trouble.lost_after = [0, 0]  # a final result in between would be progress, and tries begin anew
    with pytest.raises(RecognizerError, match="the connection was lost"):
        await last_words(recognizer, SOUND)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_is_asked_again(server: Server, make: Make, status: int) -> None:
    recognizer = make()
    await recognizer.start()
    server.trouble.refusals = [(status, "no room")]
    assert await last_words(recognizer, SOUND)


async def test_a_server_that_stays_busy_is_an_error_with_its_words(server: Server, make: Make) -> None:
    recognizer = make(retries=0)
    await recognizer.start()
    server.trouble.refusals = [(503, "no room today")]
    with pytest.raises(RecognizerError, match="503: no room today"):
        await last_words(recognizer, SOUND)


async def test_a_wrong_key_is_told_at_start_and_not_shown(
    make: Make, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEECH_KEY", "a-wrong-key")
    with pytest.raises(RecognizerError, match="401: no such key") as told:
        await make().start()
    assert "a-wrong-key" not in str(told.value)
    assert len(server.handshakes) == 1, "it is not tried again"


async def test_a_key_that_is_not_set_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPEECH_KEY")
    with pytest.raises(RecognizerError, match="SPEECH_KEY"):
        await make().start()


@pytest.mark.parametrize("kind", [DeepgramRecognizer, VllmRecognizer])
async def test_a_server_that_is_not_there_is_named(kind: type[StreamedRecognizer]) -> None:
    with pytest.raises(RecognizerError, match=r"ws://127\.0\.0\.1:9/v1"):
        await kind("ws://127.0.0.1:9/v1", api_key_env="").start()


async def test_an_utterance_without_sound_needs_no_connection(server: Server, make: Make) -> None:
    recognizer = make()
    await recognizer.start()
    before = len(server.handshakes)
    assert await last_words(recognizer, Flush()) == ""
    assert len(server.handshakes) == before
