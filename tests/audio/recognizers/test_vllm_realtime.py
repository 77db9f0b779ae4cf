"""vLLM's realtime transcription, as the server of the tests and vLLM's own code have it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest
from sounds import chunks, recognized, voice_like
from starlette.websockets import WebSocket
from streamed_speech import KEY, Vllm, serving

from audio.pcm import Samples
from audio.recognizers import Flush, RecognizerError
from audio.recognizers.dialogue import DialogueError
from audio.recognizers.vllm_realtime import VllmDialogue, VllmRecognizer

SOUND = voice_like(60)
SECOND: Samples = np.full(16_000, 500, np.int16)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vllm]:
    monkeypatch.setenv("VLLM_KEY", KEY)
    server = Vllm()
    with serving(server):
        yield server


def said(event: str | bytes) -> str:
    return str(json.loads(event)["type"])


async def test_a_flush_ends_the_transcription_and_what_follows_is_another(server: Vllm) -> None:
    recognizer = VllmRecognizer(f"ws://{server.address}/v1", api_key_env="VLLM_KEY", model="voxtral")
    await recognizer.start()
    hypotheses = await recognized(recognizer, chunks(SOUND, Flush(), SOUND))
    first, last = (hypothesis.text for hypothesis in hypotheses if hypothesis.settled)
    assert last.startswith(first)
    assert len(last.split()) == 2 * len(first.split())
    assert len(server.connections) == 3, "the try at the start, and two"


async def test_a_model_that_is_not_there_is_told(server: Vllm) -> None:
    recognizer = VllmRecognizer(f"ws://{server.address}/v1", api_key_env="VLLM_KEY", model="whisper")
    await recognizer.start()
    with pytest.raises(RecognizerError, match="`whisper` does not exist"):
        await recognized(recognizer, chunks(SOUND))


class BusyVllm(Vllm):
    """It takes connections, and reads nothing while it has other things to do."""

    free = threading.Event()

    async def realtime(self, websocket: WebSocket) -> None:
        await websocket.accept()
        await asyncio.to_thread(self.free.wait)


async def test_no_more_is_sent_than_the_server_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_KEY", KEY)
    taken = 0

    async def sound() -> AsyncIterator[Samples]:
        nonlocal taken
        while True:
            taken += 1
            yield SECOND

    with serving(BusyVllm()) as server:
        recognizer = VllmRecognizer(f"ws://{server.address}/v1", api_key_env="VLLM_KEY", model="voxtral")
        await recognizer.start()
        hearing = asyncio.create_task(recognized(recognizer, sound()))
        before = -1
        while before < taken:  # until it stands still
            before = taken
            await asyncio.sleep(0.5)
        hearing.cancel()
        BusyVllm.free.set()
    assert 20 < taken < 40


async def test_a_transcription_that_does_not_end_is_an_error() -> None:
    dialogue = VllmDialogue("voxtral")
    dialogue.push_audio(SECOND)
    assert dialogue.on_timeout() == []
    dialogue.flush()
    with pytest.raises(DialogueError, match="timeout_s"):
        dialogue.on_timeout()


def test_a_new_connection_is_sent_all_that_no_transcription_has() -> None:
    dialogue = VllmDialogue("voxtral")
    dialogue.push_audio(SECOND)
    dialogue.on_message(json.dumps({"type": "transcription.delta", "delta": " Go"}))
    dialogue.flush()
    buffer = "input_audio_buffer"
    assert [said(event) for event in dialogue.on_connected()] == [
        *("session.update", f"{buffer}.commit", f"{buffer}.append", f"{buffer}.commit")
    ]
    assert dialogue.text == "", "it is said again"


def test_the_newest_word_may_be_half_of_one() -> None:
    dialogue = VllmDialogue("voxtral")
    dialogue.push_audio(SECOND)
    for delta in (" Go", " for", "ward"):
        dialogue.on_message(json.dumps({"type": "transcription.delta", "delta": delta}))
    assert (dialogue.text, dialogue.stable) == ("Go forward", "Go")
