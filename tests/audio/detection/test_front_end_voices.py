"""Voices, silence and noise as the real model of voice activity hears them through the front end."""

from __future__ import annotations

import numpy as np
import pytest
from front_end_calls import alone, judged, open_stream
from recordings import recorded
from sounds import voice_like

from audio.detection.front_end import QUIET_WINDOWS, FrontEnd
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES
from audio.endpoint import EndpointConfig, Endpointer
from audio.onnx.silero_graph import STATE
from audio.speech_events import (
    InterruptionCandidate,
    InterruptionConfirmed,
    SpeechPaused,
    SpeechStarted,
    TurnEnded,
    VoiceNoticed,
)

RNG = np.random.default_rng(7)


async def test_silence_is_improbable(vad_model):
    assert max(await alone(vad_model, np.zeros(60 * WINDOW_SAMPLES, np.int16))) < 0.1


async def test_noise_is_improbable(vad_model):
    noise = RNG.normal(0, 1_000, 60 * WINDOW_SAMPLES).astype(np.int16)
    assert max(await alone(vad_model, noise)) < 0.3


async def test_a_voice_is_probable_from_its_second_window_to_its_end(vad_model):
    silence = np.zeros(20 * WINDOW_SAMPLES, np.int16)
    told = await alone(vad_model, np.concatenate((silence, voice_like(60), silence)))
    assert max(told[:20]) < 0.1
    assert min(told[21:79]) > 0.4
    assert max(told[82:]) < 0.3


def new_endpointer() -> Endpointer:
    config = EndpointConfig(
        start_s=0.064, pause_s=0.032, interruption_candidate_s=0.096, interruption_confirmed_s=0.9
    )
    return Endpointer(config, threshold=0.5, silence_s=0.2)


async def test_the_endpointer_finds_a_voice_within_80_ms_of_where_it_is(vad_model):
    silence = np.zeros(20 * WINDOW_SAMPLES, np.int16)
    told = await alone(vad_model, np.concatenate((silence, voice_like(60), silence)))
    window_s = WINDOW_SAMPLES / SAMPLE_RATE_HZ
    endpointer = new_endpointer()
    events = [event for probability in told for event in endpointer.push(probability, window_s)]
    assert [type(event) for event in events] == [
        VoiceNoticed,
        SpeechStarted,
        InterruptionCandidate,
        InterruptionConfirmed,
        SpeechPaused,
        TurnEnded,
    ]
    assert abs(events[1].at_s - 20 * window_s) <= 0.08
    assert abs(events[-1].at_s - 80 * window_s) <= 0.08


async def test_a_line_that_stays_silent_takes_no_run_of_the_model(counting):
    told: list[float] = []
    silence = np.zeros((QUIET_WINDOWS + 20) * WINDOW_SAMPLES, np.int16)
    open_stream(FrontEnd(counting), told).push(silence)
    await judged(told, windows=QUIET_WINDOWS + 20)
    assert sum(counting.rows) == QUIET_WINDOWS
    assert told[QUIET_WINDOWS:] == [0.0] * 20


async def test_faint_noise_is_judged_for_as_long_as_it_lasts(counting):
    told: list[float] = []
    noise = RNG.normal(0, 40, 100 * WINDOW_SAMPLES).astype(np.int16)
    open_stream(FrontEnd(counting), told).push(noise)
    await judged(told, windows=100)
    assert sum(counting.rows) == 100


def turns(probabilities: list[float]) -> list[SpeechStarted | TurnEnded]:
    """Return the starts and ends of turns."""
    endpointer, window_s = new_endpointer(), WINDOW_SAMPLES / SAMPLE_RATE_HZ
    events = [event for probability in probabilities for event in endpointer.push(probability, window_s)]
    return [event for event in events if isinstance(event, SpeechStarted | TurnEnded)]


@pytest.mark.parametrize("level", [1.0, 0.1])
@pytest.mark.parametrize("name", ["jfk.wav", "numbers.wav", "goforward.wav", "sb_spk1_snt1.wav"])
async def test_a_voice_after_skipped_silence_is_found_where_it_is(vad_model, name, level):
    voice = (recorded(name, SAMPLE_RATE_HZ)[: 4 * SAMPLE_RATE_HZ] * level).astype(np.int16)
    silence = np.zeros(3 * SAMPLE_RATE_HZ, np.int16)
    sound = np.concatenate((silence, voice, silence, voice, silence))
    told = await alone(vad_model, sound)
    windows = sound[: len(told) * WINDOW_SAMPLES].reshape(-1, WINDOW_SAMPLES) / np.float32(32_768)
    states, context, wanted = np.zeros((1, STATE), np.float32), np.zeros(64, np.float32), []
    for window in windows:
        heard = np.concatenate((context, window), dtype=np.float32)
        judgements, states = vad_model.run(heard[np.newaxis], states)
        context = window[-64:]
        wanted.append(float(judgements[0, 0]))
    found, expected = (turns(probabilities) for probabilities in (told, wanted))
    assert [type(event) for event in found] == [type(event) for event in expected]
    for event, other in zip(found, expected, strict=True):
        assert abs(event.at_s - other.at_s) <= 2 * WINDOW_SAMPLES / SAMPLE_RATE_HZ
