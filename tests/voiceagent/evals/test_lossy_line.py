"""A line that loses packets, by the clock of the sound."""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples
from voiceagent.bench.webrtc_connection import PERFECT, Line
from voiceagent.evals.delivery import over_line
from voiceagent.transports.local_call import FORMAT

AT_S = np.arange(3 * FORMAT.rate_hz) / FORMAT.rate_hz
HUM: Samples = np.rint(8_000 * np.sin(2 * np.pi * 220 * AT_S)).astype(np.int16)
WINDOW = FORMAT.rate_hz // 50
LOSSY = Line(loss=0.1, jitter_s=0.02)


def levels(sound: Samples) -> list[float]:
    """The root mean square of each 20 ms but the first and the last."""
    windows = sound.astype(np.float64).reshape(-1, WINDOW)
    return list(np.sqrt(np.mean(windows**2, axis=1))[1:-1])


def test_a_perfect_line_leaves_a_recording_as_it_is():
    assert over_line(HUM, PERFECT, "hum") is HUM


def test_a_lossy_line_changes_the_sound_and_not_its_length():
    heard = over_line(HUM, LOSSY, "hum")
    assert len(heard) == len(HUM)
    assert not np.array_equal(heard, HUM)


def test_what_is_lost_is_no_silence():
    assert min(levels(over_line(HUM, LOSSY, "hum"))) > 0.2 * np.median(levels(HUM))


def test_the_same_packets_are_lost_at_every_run_and_others_of_another_recording():
    once, again, other = (over_line(HUM, LOSSY, seed) for seed in ("one", "one", "other"))
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)


def test_packets_that_are_only_late_are_all_heard():
    late, lost = over_line(HUM, Line(jitter_s=0.015), "hum"), over_line(HUM, LOSSY, "hum")
    undisturbed = over_line(HUM, Line(jitter_s=1e-9), "hum")
    assert np.array_equal(late, undisturbed)
    assert not np.array_equal(lost, undisturbed)
