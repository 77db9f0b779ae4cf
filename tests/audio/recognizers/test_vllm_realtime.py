"""vLLM's realtime transcription, as the server of the tests and vLLM's own code have it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from sounds import chunks, recognized, voice_like
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


async def test_a_transcription_that_does_not_end_is_an_error() -> None:
    dialogue = VllmDialogue("voxtral")
    dialogue.hear(SECOND)
    assert dialogue.silent() == []
    dialogue.flush()
    with pytest.raises(DialogueError, match="timeout_s"):
        dialogue.silent()


def test_a_new_connection_is_sent_all_that_no_transcription_has() -> None:
    dialogue = VllmDialogue("voxtral")
    dialogue.hear(SECOND)
    dialogue.receive(json.dumps({"type": "transcription.delta", "delta": " Go"}))
    dialogue.flush()
    buffer = "input_audio_buffer"
    assert [said(event) for event in dialogue.begin()] == [
        *("session.update", f"{buffer}.commit", f"{buffer}.append", f"{buffer}.commit")
    ]
    assert dialogue.text == "", "it is said again"


def test_the_newest_word_may_be_half_of_one() -> None:
    dialogue = VllmDialogue("voxtral")
    dialogue.hear(SECOND)
    for delta in (" Go", " for", "ward"):
        dialogue.receive(json.dumps({"type": "transcription.delta", "delta": delta}))
    assert (dialogue.text, dialogue.stable) == ("Go forward", "Go")
