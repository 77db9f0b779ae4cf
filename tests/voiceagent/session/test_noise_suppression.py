"""Noise suppression that a client asks for in the middle of a call."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from call_settings import call_settings
from sounds import noise

from audio.echo import EchoError
from audio.pcm import AudioFormat, Samples
from voiceagent.session import echo_control
from voiceagent.session.config import EchoConfig
from voiceagent.session.echo_control import EchoControl

pytest.importorskip("livekit.rtc", reason="livekit is not installed (extra: echo)")
pytestmark = pytest.mark.usefixtures("livekit_runtime")

PLAIN = call_settings(input_format=AudioFormat.PCM_16K)
SUPPRESSED = replace(PLAIN, suppress_noise=True)
NOISE = noise(4.0, -30.0)


def level(samples: Samples) -> float:
    """Return the root mean square of the last second, in which the suppressor has learned the noise."""
    return float(np.sqrt(np.mean(samples[-16_000:].astype(float) ** 2)))


def test_noise_falls_from_the_moment_a_client_asks_for_it_until_it_takes_it_back() -> None:
    control = EchoControl(EchoConfig(), PLAIN)
    assert np.array_equal(control.clean(NOISE), NOISE)
    control.configure(SUPPRESSED)
    assert level(control.clean(NOISE)) < level(NOISE) / 2
    control.configure(PLAIN)
    assert np.array_equal(control.clean(NOISE), NOISE)


def test_a_call_may_begin_with_it() -> None:
    assert level(EchoControl(EchoConfig(), SUPPRESSED).clean(NOISE)) < level(NOISE) / 2


def test_it_stays_where_the_configuration_has_it() -> None:
    control = EchoControl(EchoConfig(suppress_noise=True), SUPPRESSED)
    control.configure(PLAIN)
    assert level(control.clean(NOISE)) < level(NOISE) / 2


def test_without_the_extra_the_audio_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise EchoError("livekit is not installed")

    monkeypatch.setattr(echo_control, "EchoCanceller", missing)
    control = EchoControl(EchoConfig(), PLAIN)
    control.configure(SUPPRESSED)
    assert np.array_equal(control.clean(NOISE), NOISE)
