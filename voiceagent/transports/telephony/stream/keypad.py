"""Keypad entries, and keys as tones in the caller's audio. Time is an argument."""

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


PATIENCE_S = 2.0
"""Silence of the keypad that completes an entry."""
MAX_DIGITS = 64


class Keypad:
    """Collector of digits until `#`, or until no key follows for `PATIENCE_S`."""

    def __init__(self) -> None:
        self._digits = ""
        self._due_s: float | None = None

    @property
    def due_s(self) -> float | None:
        """Time at which the entry is complete if no key follows; None without an entry."""
        return self._due_s

    def press(self, digit: str, now_s: float) -> str | None:
        """Add a key. Return the entry if it is now complete."""
        self._digits += digit
        self._due_s = now_s + PATIENCE_S
        return self.take() if digit == "#" or len(self._digits) >= MAX_DIGITS else None

    def take(self) -> str:
        """Return the current entry and start a new one."""
        digits, self._digits, self._due_s = self._digits, "", None
        return digits


def entry_text(digits: str) -> str:
    """Return an entry as text for the model."""
    return f"(The caller pressed {' '.join(digits)} on the phone's keypad.)"
