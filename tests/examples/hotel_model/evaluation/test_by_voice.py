"""Asking by voice: files that a call can be made from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from audio.wav import read_wav
from examples.hotel_model.data.labelled import labelled_set
from examples.hotel_model.data.labelled_calls import labelled_calls
from examples.hotel_model.evaluation.by_voice import (
    VOICES,
    Voice,
    ask_transcribed,
    request_by_voice,
)

DEMO = Path(__file__).parents[4] / "configs" / "demo.toml"


@pytest.mark.parametrize("voice", VOICES, ids=lambda voice: voice.name)
def test_a_voice_speaks_into_a_file_at_the_rate_of_its_line(voice: Voice, tmp_path: Path):
    if shutil.which(voice.program) is None:
        pytest.skip(f"{voice.program} is not installed (Debian: apt-get install {voice.program})")
    voice.speak("is there a pool", tmp_path / "q.wav")
    samples, rate_hz = read_wav(tmp_path / "q.wav")
    assert rate_hz == (8_000 if voice.telephone else 16_000)
    assert 0.5 < len(samples) / rate_hz < 4
    assert abs(samples.astype(int)).max() > 1_000


def test_a_question_is_put_as_transcribed_behind_its_written_history():
    if shutil.which("flite") is None:
        pytest.skip("flite is not installed (Debian: apt-get install flite)")
    question = next(item for item in labelled_set() if item.history)
    told: list[str] = []

    def answer(messages):
        told.extend(message["content"] for message in messages[1:])
        return question.canonical

    (asked,) = ask_transcribed([question], answer, DEMO)
    assert told == [*(content for _, content in question.history), asked.understood]
    assert asked.voice is VOICES[0]
    assert asked.verdict.right
    assert asked.word_errors < len(question.words.split())


def test_a_request_is_right_by_the_calls_of_its_last_turn():
    request = next(item for item in labelled_calls() if item.call is not None and len(item.messages) > 1)
    assert request.call is not None
    called = f"{request.call.name}({json.dumps(dict(request.call.arguments))})"
    said = []

    def talk(texts, voice):
        said.append(texts)
        return {"understood": [request.words], "answered": [], "tools": [called, "-> it is done"]}

    (made,) = request_by_voice([request], talk)
    (texts,) = said
    assert len(texts) == sum(message["role"] == "user" for message in request.messages)
    assert texts[-1] == request.words
    assert made.right
    assert made.called == (request.call,)
