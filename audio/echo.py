"""The agent's own voice and steady noise taken out of the caller's sound, for lines whose remote does not
do it.

WebRTC's audio processing (through `livekit`, optional): 47 us for echo and 14 us for noise a 10 ms frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from audio.pcm import Samples

SAMPLE_RATE_HZ = 16_000
FRAME_SAMPLES = SAMPLE_RATE_HZ // 100
"""The library takes frames of exactly 10 ms."""
MAX_WAITING_SAMPLES = SAMPLE_RATE_HZ
"""Agent's sound kept for comparison; what is older than a second cannot be heard any more."""


class EchoError(Exception):
    """Echo cancellation is not installed; the text says how to install it."""


class EchoCanceller:
    """Cleans the sound of one caller, at 16 kHz. Raises EchoError where `livekit` is not installed.

    echo: take out what `play` was given. noise: take out steady noise.
    """

    def __init__(self, echo: bool = True, noise: bool = True) -> None:
        try:
            from livekit.rtc import AudioFrame  # noqa: PLC0415  an optional extra
            from livekit.rtc.apm import AudioProcessingModule  # noqa: PLC0415  an optional extra
        except ImportError as error:
            raise EchoError(
                "livekit is not installed; install it with: pip install 'voiceagent-server[echo]'"
            ) from error
        self._new_frame = AudioFrame
        self._processing: Any = AudioProcessingModule(
            echo_cancellation=echo, noise_suppression=noise, high_pass_filter=True
        )
        self._echo = echo
        self._played: Samples = np.zeros(0, np.int16)
        self._heard: Samples = np.zeros(0, np.int16)

    def play(self, samples: Samples) -> None:
        """The agent's sound [n] that was just sent; it is heard at the pace at which the caller's sound
        comes.
        """
        self._played = np.concatenate((self._played, samples))[-MAX_WAITING_SAMPLES:]

    def stop(self) -> None:
        """What was sent and not played was dropped."""
        self._played = self._played[:0]

    def hear(self, samples: Samples) -> Samples:
        """The caller's sound [n], cleaned: whole frames of 10 ms, [m]; the rest waits for more."""
        self._heard = np.concatenate((self._heard, samples))
        whole = len(self._heard) // FRAME_SAMPLES * FRAME_SAMPLES
        frames = [self._clean(self._heard[at : at + FRAME_SAMPLES]) for at in range(0, whole, FRAME_SAMPLES)]
        self._heard = self._heard[whole:]
        return np.concatenate([np.zeros(0, np.int16), *frames])

    def _clean(self, near: Samples) -> Samples:
        if self._echo:
            far, self._played = self._played[:FRAME_SAMPLES], self._played[FRAME_SAMPLES:]
            far = np.pad(far, (0, FRAME_SAMPLES - len(far)))
            self._processing.process_reverse_stream(self._frame(far))
            self._processing.set_stream_delay_ms(0)  # the canceller finds the real delay by itself
        frame = self._frame(near)
        self._processing.process_stream(frame)
        return np.frombuffer(frame.data, np.int16).copy()

    def _frame(self, samples: Samples) -> Any:
        return self._new_frame(bytearray(samples.tobytes()), SAMPLE_RATE_HZ, 1, FRAME_SAMPLES)
