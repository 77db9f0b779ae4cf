"""Voiced spans of a whole recording, by the voice activity model."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import numpy as np

from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, SileroVad
from audio.onnx.silero_graph import INPUT_SAMPLES
from audio.pcm import Samples

THRESHOLD = 0.5
MIN_WINDOWS = 3
"""Minimum consecutive voiced windows, 96 ms: shorter runs are blips, or the onset of another sound."""
_CONTEXT_SAMPLES = INPUT_SAMPLES - WINDOW_SAMPLES

Span = tuple[int, int]
"""First sample, and the one after the last."""


def voiced_spans(sound: Samples, vad: SileroVad) -> list[Span]:
    """Return the spans of `sound` [n], 16 kHz, in which the model detects a voice, in whole windows."""
    voiced = [probability >= THRESHOLD for probability in _probabilities(sound, vad)]
    spans: list[Span] = []
    begin = 0
    for is_voiced, run in groupby(voiced):
        end = begin + len(list(run))
        if is_voiced and end - begin >= MIN_WINDOWS:
            spans.append((begin * WINDOW_SAMPLES, min(len(sound), end * WINDOW_SAMPLES)))
        begin = end
    return spans


def utterances(sound: Samples, vad: SileroVad, pause_s: float, padding_s: float) -> list[Samples]:
    """Return the utterances in `sound` [n], 16 kHz, separated by pauses of more than `pause_s`.

    padding_s: audio to keep around each. Raises ValueError if the padding is not less than half the pause.
    """
    if 2 * padding_s >= pause_s:
        raise ValueError(f"padding_s is {padding_s}; allowed: less than half of pause_s, {pause_s}")
    padding, pause = round(padding_s * SAMPLE_RATE_HZ), round(pause_s * SAMPLE_RATE_HZ)
    spans = joined(voiced_spans(sound, vad), pause)
    return [sound[max(0, begin - padding) : end + padding] for begin, end in spans]


def joined(spans: Iterable[Span], pause: int) -> list[Span]:
    """Join spans that are at most `pause` samples apart."""
    whole: list[Span] = []
    for begin, end in spans:
        if whole and begin - whole[-1][1] <= pause:
            whole[-1] = (whole[-1][0], end)
        else:
            whole.append((begin, end))
    return whole


def _probabilities(sound: Samples, vad: SileroVad) -> list[float]:
    windows = -(-len(sound) // WINDOW_SAMPLES)
    padded = np.zeros(_CONTEXT_SAMPLES + windows * WINDOW_SAMPLES, np.float32)
    padded[_CONTEXT_SAMPLES : _CONTEXT_SAMPLES + len(sound)] = sound / np.float32(32_768)
    state = vad.after_silence[np.newaxis]
    found = []
    for begin in range(0, windows * WINDOW_SAMPLES, WINDOW_SAMPLES):
        judgements, state = vad.run(padded[np.newaxis, begin : begin + INPUT_SAMPLES], state)
        found.append(float(judgements[0, 0]))
    return found
