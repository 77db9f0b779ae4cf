"""Keys that the caller presses, gathered into entries. Pure: time is an argument."""

from __future__ import annotations

PATIENCE_S = 2.0
"""How long after its last key an entry is complete."""
MAX_DIGITS = 64


class Keypad:
    """Gathers digits until `#`, or until no more come for `PATIENCE_S`."""

    def __init__(self) -> None:
        self._digits = ""
        self._due_s: float | None = None

    @property
    def due_s(self) -> float | None:
        """When the entry is complete if no more keys come; None without one."""
        return self._due_s

    def press(self, digit: str, now_s: float) -> str | None:
        """Take a key; the entry if it is complete now."""
        self._digits += digit
        self._due_s = now_s + PATIENCE_S
        return self.take() if digit == "#" or len(self._digits) >= MAX_DIGITS else None

    def take(self) -> str:
        """The entry as it stands; a new one begins."""
        digits, self._digits, self._due_s = self._digits, "", None
        return digits


def entry_text(digits: str) -> str:
    """What the model reads of an entry."""
    return f"(The caller pressed {' '.join(digits)} on the phone's keypad.)"
