"""Deepgram's streaming API; what all recognizers do is in test_recognizers.py and test_streamed.py."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from sounds import chunks, recognized, voice_like
from streamed_speech import KEY, Deepgram, serving

from audio.pcm import Samples
from audio.recognizers import ExpectedSpeech, Flush
from audio.recognizers.deepgram import DeepgramDialogue, DeepgramRecognizer
from audio.recognizers.dialogue import DialogueError

SOUND = voice_like(60)
SECOND: Samples = np.full(16_000, 500, np.int16)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deepgram]:
    monkeypatch.setenv("DEEPGRAM_API_KEY", KEY)
    server = Deepgram()
    with serving(server):
        yield server


async def started(server: Deepgram, **options: Any) -> DeepgramRecognizer:
    recognizer = DeepgramRecognizer(f"ws://{server.address}/v1", **options)
    await recognizer.start()
    return recognizer


def result(words: str, start: float, duration: float, confidence: float = 0.5, **flags: bool) -> str:
    best = {"transcript": words, "confidence": confidence}
    event = {"type": "Results", "start": start, "duration": duration, "channel": {"alternatives": [best]}}
    return json.dumps(event | flags)


async def test_the_handshake_says_what_is_wanted(server: Deepgram) -> None:
    keys = {"language": "de", "keyterms": ("Roma", "Zum Ochsen"), "parameters": {"numerals": "true"}}
    await started(server, **keys)
    [handshake] = server.handshakes
    assert handshake["authorization"] == f"Token {KEY}"
    query = handshake["query"]
    assert {("model", "nova-3"), ("language", "de"), ("numerals", "true")} <= set(query)
    assert {("encoding", "linear16"), ("sample_rate", "16000"), ("interim_results", "true")} <= set(query)
    assert [value for name, value in query if name == "keyterm"] == ["Roma", "Zum Ochsen"]


def keyterms(server: Deepgram) -> list[str]:
    """Return the key terms of the newest connection."""
    return [value for name, value in server.handshakes[-1]["query"] if name == "keyterm"]


async def test_the_phrases_of_a_call_are_key_terms_after_those_of_all_calls(server: Deepgram) -> None:
    recognizer = await started(server, keyterms=("Roma",))
    expected = ExpectedSpeech(phrases=("Zintara", "Roma"), words=("Ochsen",))
    async with aclosing(recognizer.recognize(chunks(SOUND, Flush()), expected)) as hypotheses:
        assert [one async for one in hypotheses][-1].settled
    assert keyterms(server) == ["Roma", "Zintara", "Ochsen"]
    await recognized(recognizer, chunks(SOUND, Flush()))
    assert keyterms(server) == ["Roma"]


def test_more_phrases_than_deepgram_takes_are_left_out() -> None:
    recognizer = DeepgramRecognizer("ws://127.0.0.1:1")
    for length in (3, 400):
        phrases = tuple(f"{at:0{length}}" for at in range(150))
        query = parse_qsl(urlsplit(recognizer.path(ExpectedSpeech(phrases=phrases))).query)
        terms = [value for name, value in query if name == "keyterm"]
        assert tuple(terms) == phrases[: {3: 100, 400: 2}[length]]


def test_an_older_model_gets_no_phrases_of_a_call() -> None:
    recognizer = DeepgramRecognizer("ws://127.0.0.1:1", model="nova-2")
    assert "keyterm" not in recognizer.path(ExpectedSpeech(phrases=("Zintara",)))


async def test_a_flush_asks_for_the_rest_and_the_end_says_goodbye(server: Deepgram) -> None:
    recognizer = await started(server)
    hypotheses = await recognized(recognizer, chunks(SOUND, Flush()))
    await recognizer.close()
    messages = [item for item in server.connections[-1] if isinstance(item, dict)]
    assert messages == [{"type": "Finalize"}, {"type": "CloseStream"}]
    assert hypotheses[-1].text
    assert hypotheses[-1].confidence == pytest.approx(0.9)


async def test_a_finalize_without_an_answer_settles_the_interim_words(server: Deepgram) -> None:
    recognizer = await started(server, timeout_s=0.2)
    server.trouble.unanswered = True
    [*partial, last] = await recognized(recognizer, chunks(SOUND[:8_000]))
    assert last.settled
    assert last.text == partial[-1].text


async def test_a_caller_who_rests_keeps_the_connection(
    server: Deepgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeepgramRecognizer, "idle_timeout_s", 0.05)
    recognizer = await started(server)

    async def sound() -> AsyncIterator[Samples | Flush]:
        yield SOUND
        yield Flush()
        await asyncio.Event().wait()

    async with aclosing(recognizer.recognize(sound())) as hypotheses, asyncio.timeout(20):
        reading = asyncio.ensure_future(anext(hypotheses))
        while {"type": "KeepAlive"} not in server.connections[-1]:
            if reading.done():
                reading = asyncio.ensure_future(anext(hypotheses))
            await asyncio.sleep(0.01)
        reading.cancel()
        await asyncio.wait([reading])


def test_final_results_are_joined_and_interim_ones_replaced() -> None:
    dialogue = DeepgramDialogue()
    dialogue.push_audio(SECOND)
    dialogue.on_message(result("go four", 0, 0.5))
    dialogue.on_message(result("Go forward.", 0, 0.8, is_final=True))
    dialogue.on_message(result("ten", 0.8, 0.2))
    assert dialogue.text == "Go forward. ten"
    assert dialogue.stable == "Go forward."


def test_words_that_interim_results_agree_on_are_stable() -> None:
    dialogue = DeepgramDialogue()
    dialogue.push_audio(SECOND)
    dialogue.on_message(result("go forward to", 0, 0.5))
    dialogue.on_message(result("go forward ten meters", 0, 0.8))
    assert dialogue.stable == "go forward"


def test_nothing_is_asked_for_where_all_is_final() -> None:
    dialogue = DeepgramDialogue()
    dialogue.push_audio(SECOND)
    dialogue.on_message(result("Go.", 0, 0.999, is_final=True))
    assert dialogue.flush() == []
    assert not dialogue.pending


def test_only_what_is_not_final_is_sent_again() -> None:
    dialogue = DeepgramDialogue()
    dialogue.push_audio(SECOND)
    dialogue.on_message(result("Go.", 0, 0.75, is_final=True))
    dialogue.flush()
    assert dialogue.on_connected() == [SECOND[:4_000].tobytes(), json.dumps({"type": "Finalize"})]
    dialogue.on_message(result("On.", 0, 0.25, is_final=True, from_finalize=True))
    assert (dialogue.text, dialogue.pending) == ("Go. On.", False)


def test_a_late_answer_settles_only_the_sound_that_it_is_of() -> None:
    dialogue = DeepgramDialogue()
    dialogue.push_audio(SECOND)
    dialogue.flush()
    dialogue.on_timeout()
    dialogue.push_audio(SECOND)
    dialogue.on_message(result("", 0, 1.0, is_final=True, from_finalize=True))
    assert dialogue.flush() != []


def test_confidence_is_the_mean_of_a_word() -> None:
    dialogue = DeepgramDialogue()
    dialogue.push_audio(SECOND)
    dialogue.on_message(result("one two three", 0, 0.5, 0.8, is_final=True))
    dialogue.on_message(result("four", 0.5, 0.5, 0.4, is_final=True))
    assert dialogue.confidence == pytest.approx(0.7)


def test_no_more_is_sent_where_much_is_not_heard() -> None:
    dialogue = DeepgramDialogue()
    for _ in range(21):
        dialogue.push_audio(SECOND)
    assert dialogue.lags
    dialogue.on_message(result("go", 0, 5.0))
    assert not dialogue.lags


@pytest.mark.parametrize(
    "message", ["{", "[]", '{"type": "Results"}', '{"type": "Error", "description": "no"}']
)
def test_what_nobody_understands_is_an_error(message: str) -> None:
    with pytest.raises(DialogueError):
        DeepgramDialogue().on_message(message)
