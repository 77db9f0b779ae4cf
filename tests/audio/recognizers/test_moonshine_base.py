"""Moonshine base, whose weights are downloaded, beside the installed tiny model."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from recordings import recorded
from sounds import chunks, recognized, said

from audio.onnx.runtime import onnx_session
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, moonshine_files
from audio.recognizers.decoding.growing_window import Segment
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.recognizers.moonshine_files import model_files
from audio.recognizers.moonshine_model import LoadedModel
from voiceagent.weights import is_stored, known_weights, weights_folder

QUESTION = "When is breakfast, and may I have it in my room?"


@pytest.fixture(scope="module")
def folder() -> Path:
    stored = weights_folder(os.environ)
    if not is_stored(known_weights()["moonshine-base"], stored):
        pytest.skip("no weights: voiceagent weights moonshine-base")
    return stored / "moonshine-base"


@pytest.fixture(scope="module")
def model(folder: Path) -> LoadedModel:
    return LoadedModel(folder)


async def test_second_model_has_the_last_word(folder: Path) -> None:
    sound = recorded("people/ami_headset.wav", SAMPLE_RATE_HZ)
    recognizer = MoonshineRecognizer(second_model=folder)
    await recognizer.start()
    found = await recognized(recognizer, chunks(sound, Flush()))
    await recognizer.close()
    alone = decode(LoadedModel(folder), sound).text
    assert found[-1].text == alone != found[-2].text


def decode(model: LoadedModel, sound: Samples) -> Segment:
    [segment] = model.open()(sound, "", Event(), None)
    return segment


async def test_states_of_a_sound_are_the_file_s(folder: Path, model: LoadedModel) -> None:
    """But for numbers that lie between two steps of 8 bits."""
    sound = await said(QUESTION)
    wave = sound.astype(np.float32)[np.newaxis] / 32_768
    expected = onnx_session(model_files(folder)[0]).run(None, {"input_values": wave})[0]
    found = model.network.encode(sound)
    assert found.shape == expected.shape
    assert np.abs(found - expected).mean() < 0.1 * np.abs(expected).mean()


async def test_a_question_is_recognized(model: LoadedModel) -> None:
    assert "breakfast" in decode(model, await said(QUESTION)).text


async def test_end_of_a_turn_is_rated_by_the_tiny_model_s_encoder(model: LoadedModel) -> None:
    sound = await said(QUESTION)
    assert decode(model, sound).complete == decode(LoadedModel(None), sound).complete is not None


async def test_without_the_tiny_model_no_turn_is_rated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moonshine_files, "find_spec", lambda name: None)
    assert decode(LoadedModel(folder), await said(QUESTION)).complete is None


def test_a_short_answer_is_not_taken_for_nothing(model: LoadedModel) -> None:
    assert decode(model, recorded("people/cv_22058264.wav", SAMPLE_RATE_HZ)).text == "No."


def test_noise_has_no_words(model: LoadedModel) -> None:
    noise = np.random.default_rng(0).normal(0, 300, 16_000).astype(np.int16)
    assert decode(model, noise).text == ""
