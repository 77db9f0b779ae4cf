"""Removal of the agent's echo and of steady noise from the caller's audio, for clients that do not do it.

WebRTC's audio processing (through `livekit`, optional): 47 us for echo and 14 us for noise a 10 ms frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from audio.pcm import Samples

SAMPLE_RATE_HZ = 16_000
FRAME_SAMPLES = SAMPLE_RATE_HZ // 100
"""The library requires frames of exactly 10 ms."""
MAX_WAITING_SAMPLES = SAMPLE_RATE_HZ
"""Agent audio that may be ahead of the caller's; after a second its echo has passed."""
DELAY_MARGIN_S = 0.02
"""Part of a measured delay that is left to the canceller, which finds only echoes after the agent's audio."""


class EchoError(Exception):
    """Echo cancellation is not installed. The message says how to install it."""


class EchoCanceller:
    """Echo and noise canceller of one call, at 16 kHz. Raises EchoError if `livekit` is not installed.

    echo: remove the audio given to `play`. noise: remove steady noise. delay_s: of the echo, if it was
    measured; the canceller itself finds delays of up to 0.3 s or so, and takes time for it.
    """

    def __init__(self, echo: bool = True, noise: bool = True, delay_s: float = 0.0) -> None:
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
        delay = round(max(0.0, delay_s - DELAY_MARGIN_S) * SAMPLE_RATE_HZ)
        self._delay = delay
        # the agent's audio, as late as its echo; it begins with the caller's next frame
        self._played: Samples = np.zeros(delay, np.int16)
        self._buffer: Samples = np.zeros(0, np.int16)

    def converge(self, played: Samples, received: Samples, passes: int = 1) -> Samples:
        """Learn the echo from the call so far, before any other use. Return `received` cleaned.

        played, received: the agent's and the caller's audio from the same time on, [m] and [n], n in whole
        frames; the agent's includes what was sent ahead. passes: more learn more from little audio. 10 ms
        cost 0.05 ms.
        """
        for _ in range(passes - 1):
            self._played = np.concatenate((self._played[: self._delay], played[: len(received)]))
            self.hear(received)
        self._played = np.concatenate((self._played[: self._delay], played))
        return self.hear(received)

    def play(self, samples: Samples) -> None:
        """Add the agent's audio [n] that was just sent. It is consumed at the pace of the caller's audio."""
        gap: Samples = np.zeros(max(0, self._now - len(self._played)), np.int16)
        self._played = np.concatenate((self._played, gap, samples))[-MAX_WAITING_SAMPLES - self._delay :]

    def stop(self) -> None:
        """Discard agent audio that was sent but not played: the client dropped it."""
        self._played = self._played[: self._now]

    @property
    def _now(self) -> int:
        """Index in `_played` of the audio that is sent now."""
        return self._delay + len(self._buffer)

    def hear(self, samples: Samples) -> Samples:
        """Return the caller's audio cleaned, in whole 10 ms frames [m]; the remainder is buffered."""
        self._buffer = np.concatenate((self._buffer, samples))
        whole = len(self._buffer) // FRAME_SAMPLES * FRAME_SAMPLES
        frames = [self._clean(self._buffer[at : at + FRAME_SAMPLES]) for at in range(0, whole, FRAME_SAMPLES)]
        self._buffer = self._buffer[whole:]
        return np.concatenate([np.zeros(0, np.int16), *frames])

    def _clean(self, near: Samples) -> Samples:
        if self._echo:
            far, self._played = self._played[:FRAME_SAMPLES], self._played[FRAME_SAMPLES:]
            far = np.pad(far, (0, FRAME_SAMPLES - len(far)))
            self._processing.process_reverse_stream(self._frame(far))
            self._processing.set_stream_delay_ms(0)  # the canceller estimates the real delay
        frame = self._frame(near)
        self._processing.process_stream(frame)
        return np.frombuffer(frame.data, np.int16).copy()

    def _frame(self, samples: Samples) -> Any:
        return self._new_frame(bytearray(samples.tobytes()), SAMPLE_RATE_HZ, 1, FRAME_SAMPLES)
