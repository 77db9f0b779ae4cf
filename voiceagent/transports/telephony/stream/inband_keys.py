"""Keys as tones in the caller's audio, where a line may not report them."""

from __future__ import annotations

from audio.dtmf import DtmfDetector
from audio.pcm import Samples

SAME_KEY_S = 1.5
"""Time within which a report and a tone are the same press: lines report keys at their beginning or end."""


class InbandKeys:
    """Keys in the audio of one call, until the line reports one: then it reports all of them."""

    def __init__(self, rate_hz: int) -> None:
        self._detector: DtmfDetector | None = DtmfDetector(rate_hz)
        self._heard = ("", 0.0)
        self._muted_until_s = 0.0

    def push(self, samples: Samples, now_s: float) -> str:
        """Add audio at the rate of the line and return the keys pressed in it. now_s: monotonic time."""
        if self._detector is None:
            return ""
        keys = self._detector.push(samples)
        if not keys or now_s < self._muted_until_s:
            return ""
        self._heard = keys[-1], now_s
        return keys

    def mute(self, until_s: float) -> None:
        """Ignore keys until this time: this end sends tones, which the line may echo."""
        self._muted_until_s = until_s

    def is_new(self, key: str, now_s: float) -> bool:
        """Handle a key that the line reported. Return False if its tone was heard already."""
        heard, at_s = self._heard
        self._detector, self._heard = None, ("", 0.0)
        return key != heard or now_s - at_s > SAME_KEY_S
