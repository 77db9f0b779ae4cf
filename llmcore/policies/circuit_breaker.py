"""A circuit breaker: an engine that keeps failing is left alone for a while, then tried by one request. Pure.

After Michael Nygard, "Release It!" (2nd edition, 2018), chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["closed", "open", "half_open"]


class CircuitBreaker:
    """Closed while all is well; open after `failures` in a row; half open while one request tries the engine.

    backoff: how long it stays open, longer each time the trial fails too, with jitter, so that servers that
    share an engine do not all try it at once. random: draws from [0, 1). Times are seconds of one clock.
    """

    def __init__(self, failures: int, backoff: Backoff, random: Callable[[], float]) -> None:
        self._max_failures = failures
        self._backoff = backoff
        self._random = random
        self._failures = 0
        self._trips = 0
        self._trying = False
        self._until_s = 0.0

    @property
    def state(self) -> State:
        """Which requests pass: all ("closed"), none, or one that tries ("half_open")."""
        if self._trips == 0:
            return "closed"
        return "half_open" if self._trying else "open"

    def allows(self, now_s: float) -> bool:
        """Whether a request may be made. It must be followed by `succeeded`, `failed` or `abandoned`."""
        if self._trips == 0:
            return True
        # one at a time: an engine that comes back must not meet all who waited
        if self._trying or now_s < self._until_s:
            return False
        self._trying = True
        return True

    def wait_s(self, now_s: float) -> float:
        """Seconds until the engine is tried again; 0 where it may be now."""
        return max(0.0, self._until_s - now_s) if self._trips else 0.0

    def succeeded(self) -> None:
        """The engine answered: the circuit is closed."""
        self._failures = self._trips = 0
        self._trying = False

    def failed(self, now_s: float) -> None:
        """The engine failed: once too often in a row, or again in the trial, and the circuit opens."""
        self._failures += 1
        # A late failure of a request from before the circuit opened tells nothing new.
        if self._trying or (self._trips == 0 and self._failures >= self._max_failures):
            self._trips += 1
            self._trying = False
            self._until_s = now_s + self._backoff.wait_s(self._trips, self._random, self._backoff.base_s)

    def abandoned(self) -> None:
        """The request was given up before the engine answered or failed: the next one may try."""
        self._trying = False


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with full jitter: a random part of a ceiling that doubles with each try.

    base_s: the ceiling after the first failure. max_s: where it stops growing. After Marc Brooker,
    "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
    """

    base_s: float
    max_s: float

    def wait_s(self, failures: int, random: Callable[[], float], retry_after_s: float | None = None) -> float:
        """Seconds to wait after this many failures in a row (from 1); never less than the server asked for.

        random: draws from [0, 1).
        """
        doublings = min(failures - 1, 1000)  # 2.0 ** 1024 is an error, and a thousand tries a night's work
        ceiling_s = min(self.max_s, self.base_s * 2.0**doublings)
        return max(random() * ceiling_s, retry_after_s or 0.0)
