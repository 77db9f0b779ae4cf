"""How long to wait before another try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with full jitter: a random part of a ceiling that doubles with each try.

    base_s: the ceiling after the first failure. max_s: where it stops growing. After Marc Brooker,
    "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
    """

    base_s: float
    max_s: float

    def wait_s(self, failures: int, random: Callable[[], float], retry_after_s: float | None = None) -> float:
        """Seconds to wait after so many failures in a row (from 1); never less than the server asked for.

        random: draws from [0, 1).
        """
        doublings = min(failures - 1, 1000)  # 2.0 ** 1024 is an error, and a thousand tries a night's work
        ceiling_s = min(self.max_s, self.base_s * 2.0**doublings)
        return max(random() * ceiling_s, retry_after_s or 0.0)
