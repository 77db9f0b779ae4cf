"""The turn model's features, and the model itself where it is installed."""

import asyncio
import threading
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import audio.detection.smart_turn
from audio.detection.smart_turn import MAX_TURN_S, SAMPLE_RATE_HZ, SmartTurn, TurnModelError, log_mel

needs_model = pytest.mark.skipif(
    find_spec("pipecat") is None,
    reason="the turn model is not installed: pip install --no-deps pipecat-ai==1.14.0",
)


def noise(seconds: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 3_000, round(seconds * SAMPLE_RATE_HZ)).astype(np.int16)


@pytest.mark.parametrize("seconds", [0.5, 3.0, 8.0])
def test_features_are_those_of_the_whisper_extractor(seconds):
    transformers = pytest.importorskip("transformers", reason="the reference features need transformers")
    sound = noise(seconds)
    padded = np.zeros(MAX_TURN_S * SAMPLE_RATE_HZ, np.float32)
    padded[len(padded) - len(sound) :] = sound / 32_768
    extract = transformers.WhisperFeatureExtractor(chunk_length=MAX_TURN_S)
    reference = extract(padded, sampling_rate=SAMPLE_RATE_HZ, do_normalize=True, return_tensors="np")
    assert np.abs(log_mel(sound) - reference.input_features[0]).max() < 1e-3


def test_features_have_the_shape_the_model_wants():
    features = log_mel(noise(2.0))
    assert features.shape == (80, 800)
    assert features.dtype == np.float32


def test_only_the_last_eight_seconds_are_heard():
    sound = noise(12.0)
    assert np.array_equal(log_mel(sound), log_mel(sound[-MAX_TURN_S * SAMPLE_RATE_HZ :]))


def test_no_sound_at_all_has_features_too():
    assert np.isfinite(log_mel(np.zeros(0, np.int16))).all()


@needs_model
async def test_the_model_judges_off_the_event_loop(monkeypatch):
    threads: list[str] = []

    def watched(samples):
        threads.append(threading.current_thread().name)
        return log_mel(samples)

    monkeypatch.setattr(audio.detection.smart_turn, "log_mel", watched)
    turn = SmartTurn()
    await turn.start()
    probability = await turn.complete(noise(2.0))
    await turn.close()
    assert 0.0 <= probability <= 1.0
    assert threads[0].startswith("smart-turn")


@needs_model
async def test_silence_counts_as_a_complete_turn():
    turn = SmartTurn()
    await turn.start()
    assert await turn.complete(np.zeros(SAMPLE_RATE_HZ, np.int16)) > 0.9
    await turn.close()


@needs_model
async def test_a_turn_that_waits_in_line_can_be_given_up(monkeypatch):
    judged: list[int] = []
    free = threading.Event()

    def watched(samples):
        judged.append(len(samples))
        free.wait(10)
        return log_mel(samples)

    monkeypatch.setattr(audio.detection.smart_turn, "log_mel", watched)
    turn = SmartTurn()
    await turn.start()
    first = asyncio.create_task(turn.complete(noise(1.0)))
    second = asyncio.create_task(turn.complete(noise(2.0)))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    free.set()
    await first
    await turn.close()
    assert judged == [SAMPLE_RATE_HZ]


async def test_a_model_file_that_is_not_there_is_named():
    turn = SmartTurn(Path("no_such.onnx"))
    with pytest.raises(TurnModelError, match=r"no_such\.onnx"):
        await turn.start()
    await turn.close()


async def test_without_the_wheel_the_error_names_the_way_out(monkeypatch):
    monkeypatch.setattr(audio.detection.smart_turn, "find_spec", lambda _: None)
    turn = SmartTurn()
    with pytest.raises(TurnModelError, match="pip install --no-deps pipecat-ai"):
        await turn.start()
    await turn.close()
