"""Keypad entries. Time is an argument."""

from __future__ import annotations

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
