"""A circuit breaker: stops requests to an engine that keeps failing, then probes it with one request.

After Michael Nygard, "Release It!" (2nd edition, 2018), chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["closed", "open", "half_open"]


class CircuitBreaker:
    """State machine: open after `failures` in a row, half open while one request probes the engine, else
    closed.

    backoff: time in the open state, longer after each failed probe. It has jitter, so that servers that share
    an engine do not probe it together. random: draws from [0, 1). Times are seconds of one clock.
    """

    def __init__(self, failures: int, backoff: Backoff, random: Callable[[], float]) -> None:
        self._max_failures = failures
        self._backoff = backoff
        self._random = random
        self._failures = 0
        self._trips = 0
        self._probing = False
        self._probe_at_s = 0.0

    @property
    def state(self) -> State:
        """ "closed": all requests pass. "open": none. "half_open": one probe is in flight."""
        if self._trips == 0:
            return "closed"
        return "half_open" if self._probing else "open"

    def allows(self, now_s: float) -> bool:
        """Return True if a request may be sent.

        Its outcome must then be reported, by `record_success`, `record_failure` or `record_cancelled`.
        """
        if self._trips == 0:
            return True
        # one at a time: a recovering engine must not receive the whole backlog
        if self._probing or now_s < self._probe_at_s:
            return False
        self._probing = True
        return True

    def wait_s(self, now_s: float) -> float:
        """Return the seconds until the next probe; 0 if a request may be sent now."""
        return max(0.0, self._probe_at_s - now_s) if self._trips else 0.0

    def record_success(self) -> None:
        """Close the circuit after a reply."""
        self._failures = self._trips = 0
        self._probing = False

    def record_failure(self, now_s: float) -> None:
        """Count a failure. Open the circuit after too many in a row or a failed probe."""
        self._failures += 1
        # Ignore late failures of requests sent before the circuit opened.
        if self._probing or (self._trips == 0 and self._failures >= self._max_failures):
            self._trips += 1
            self._probing = False
            self._probe_at_s = now_s + self._backoff.wait_s(self._trips, self._random, self._backoff.base_s)

    def record_cancelled(self) -> None:
        """Release the probe after a request was cancelled before a result was known."""
        self._probing = False


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with full jitter: a random part of a ceiling that doubles with each attempt.

    base_s: ceiling after the first failure. max_s: largest ceiling. After Marc Brooker, "Exponential Backoff
    And Jitter" (AWS Architecture Blog, 2015).
    """

    base_s: float
    max_s: float

    def wait_s(self, failures: int, random: Callable[[], float], retry_after_s: float | None = None) -> float:
        """Return the wait in seconds after `failures` in a row (from 1), and at least the server's
        `retry_after_s`.

        random: draws from [0, 1).
        """
        # 2.0 ** 1024 overflows; a night of retries reaches a thousand failures
        doublings = min(failures - 1, 1000)
        ceiling_s = min(self.max_s, self.base_s * 2.0**doublings)
        return max(random() * ceiling_s, retry_after_s or 0.0)
