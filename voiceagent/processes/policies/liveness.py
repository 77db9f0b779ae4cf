"""When a process counts as hung, and when one that died is started again. Pure.

Times are seconds of one clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from llmcore.policies.circuit_breaker import Backoff

STARTS_IN_A_ROW = 3
"""A process that was never ready is given up after this many starts: what is wrong at first stays wrong."""
_OWN_BEATS = 1.5
"""The most intervals that one beat adds to a silence: when the one who asks was stopped, or its clock
stepped, nobody else was silent."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """How a process is watched over.

    beat_s: between two questions whether it is there. late_s: after such a silence it gets nothing new.
    hang_s: after such a silence it is killed. start_s: how long one that is started again may take until it
    is ready; the first start, which may load or fetch a model, may take any time. backoff: between starts
    that fail.
    """

    beat_s: float = 0.5
    late_s: float = 1.0
    hang_s: float = 5.0
    start_s: float = 120.0
    backoff: Backoff = Backoff(base_s=0.5, max_s=30.0)  # noqa: RUF009  it is immutable


class Heartbeat:
    """How long a process has left a question unanswered. full: by its last answer it takes no more."""

    def __init__(self, supervision: Supervision) -> None:
        self._supervision = supervision
        self._asked = False
        self._beat_s = 0.0
        self.silent_s = 0.0
        self.full = False

    def beat(self, now_s: float) -> bool:
        """An interval is over; whether to ask now."""
        passed_s, self._beat_s = now_s - self._beat_s, now_s
        if not self._asked:
            self._asked = True
            return True
        # counted in beats of ours, so that a laptop that slept does not kill its workers
        self.silent_s += min(max(passed_s, 0.0), _OWN_BEATS * self._supervision.beat_s)
        return False

    def answered(self, full: bool = False) -> None:
        """It is there."""
        self._asked, self.full = False, full
        self.silent_s = 0.0

    @property
    def state(self) -> Literal["well", "late", "hung"]:
        """What follows from the silence."""
        if self.silent_s >= self._supervision.hang_s:
            return "hung"
        return "late" if self.silent_s >= self._supervision.late_s else "well"


class Restarts:
    """Whether and when a process that died is started again. random: draws from [0, 1)."""

    def __init__(self, supervision: Supervision, random: Callable[[], float]) -> None:
        self._backoff = supervision.backoff
        self._random = random
        self._starts_left = STARTS_IN_A_ROW - 1
        self._ready_since_s: float | None = None
        self._failures = 0
        self.was_ready = False
        """Whether it ever did what it is for."""

    def ready(self, now_s: float) -> None:
        """It does what it is for."""
        self.was_ready = True
        self._ready_since_s = now_s

    def lost(self, now_s: float, told_why: bool) -> float | None:
        """The process died, having told why or not: the seconds until it is to be started again; None where
        it is given up.

        One that was ever ready is never given up. The first restart is at once; those after it wait, longer
        each time, until one has stayed for as long as the longest wait.
        """
        if not self.was_ready:
            self._starts_left -= 1
            # What it tells at its first start, such as a model that is not there, is wrong in the settings.
            return None if told_why or self._starts_left < 0 else 0.0
        ready_since_s, self._ready_since_s = self._ready_since_s, None
        if ready_since_s is not None and now_s - ready_since_s >= self._backoff.max_s:
            self._failures = 0
        self._failures += 1
        return 0.0 if self._failures == 1 else self._backoff.wait_s(self._failures - 1, self._random)
