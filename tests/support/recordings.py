"""Recorded human speech, which is not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from audio.pcm import Samples
from audio.resample import resample
from audio.wav import read_wav

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("VOICEAGENT_SPEECH", ROOT.parent / "shared/speech"))
"""Where the recordings lie: beside the repository, or where the variable says."""


def recording(name: str) -> Path:
    """The file of a recording; skips the test where it is missing."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"the recording {path} is missing; VOICEAGENT_SPEECH may name the folder it is in")
    return path


def recorded(name: str, rate_hz: int) -> Samples:
    """The sound of a recording [n] at `rate_hz`; skips the test where it is missing."""
    samples, from_hz = read_wav(recording(name))
    return resample(samples, from_hz, rate_hz)
