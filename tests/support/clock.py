"""A clock that a test sets."""

from __future__ import annotations


class Clock:
    """Time that stands until `now_s` is set."""

    def __init__(self, now_s: float = 100.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s
