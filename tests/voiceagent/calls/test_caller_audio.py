from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from voiceagent.calls.call_speech import caller_audio
from voiceagent.calls.files import OpusRecording, WavRecording
from voiceagent.calls.log.entries import SilentSpan


@pytest.mark.parametrize("kind", [WavRecording, OpusRecording])
def test_the_callers_sound_is_the_left_without_what_he_did_not_send(tmp_path: Path, kind):
    rate_hz = 24_000
    both = np.zeros((2 * rate_hz, 2), np.int16)
    tone = np.sin(2 * np.pi * 440 * np.arange(2 * rate_hz) / rate_hz)
    both[:rate_hz, 0], both[:, 1] = 8_000 * tone[:rate_hz], 4_000 * tone
    path = tmp_path / f"sound{kind.suffix}"
    recording = kind(path, rate_hz, lambda error: None)
    recording.write(0, both)
    recording.close()
    sent = caller_audio(path.read_bytes(), rate_hz, [SilentSpan(rate_hz, 3 * rate_hz // 2)])
    assert len(sent) == pytest.approx(1.5 * 16_000, abs=800)
    assert np.abs(sent[2_000:14_000]).max() == pytest.approx(8_000, rel=0.2)
    assert np.abs(sent[17_000:20_000]).max() < 1_000


def test_what_is_no_recording_is_told():
    with pytest.raises(ValueError, match="cannot be read"):
        caller_audio(b"nothing", 8_000, [])
