"""Liveness of child processes: detection of hangs, and restarts with backoff.

Times are seconds of one clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from llmcore.policies.circuit_breaker import Backoff

STARTS_IN_A_ROW = 3
"""Failed starts after which a process that was never ready is given up, as the cause will not go away."""
_MAX_COUNTED_BEATS = 1.5
"""Maximum intervals that one heartbeat adds to a silence. If this process was suspended, or its clock
stepped, the other process was not silent for that time.
"""
_WORKING_SHARE = 0.05
"""Least share of a silence that a process computes, or waits for a core, if it works."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """Settings of supervision.

    beat_s: heartbeat interval. late_s: silence after which the process gets no new work. hang_s: silence
    after which it is killed. working_s: the same for a process that works meanwhile, if longer; it is
    slow, and its restart would be slow too. start_s: timeout of a restart; the first start, which may load
    or download a model, has none. backoff: between failing starts.
    """

    beat_s: float = 0.5
    late_s: float = 1.0
    hang_s: float = 5.0
    working_s: float = 0.0
    start_s: float = 120.0
    backoff: Backoff = Backoff(base_s=0.5, max_s=30.0)  # noqa: RUF009  it is immutable


class Heartbeat:
    """Duration of the current heartbeat silence. full: the last reply said: no new work for this process."""

    def __init__(self, supervision: Supervision) -> None:
        self._supervision = supervision
        self._awaits_reply = False
        self._beat_s = 0.0
        self.silent_s = 0.0
        self.full = False
        self._last_busy_s: float | None = None  # busy time when the silent process was last seen to work
        self._worked_until_s = 0.0  # time of the silence at which that was

    def beat(self, now_s: float) -> bool:
        """Count one interval. Return True if a heartbeat must be sent now."""
        passed_s, self._beat_s = now_s - self._beat_s, now_s
        if not self._awaits_reply:
            self._awaits_reply = True
            return True
        # limited to our own intervals, so that a laptop that slept does not kill its workers
        self.silent_s += min(max(passed_s, 0.0), _MAX_COUNTED_BEATS * self._supervision.beat_s)
        return False

    def on_reply(self, full: bool = False) -> None:
        self._awaits_reply, self.full = False, full
        self.silent_s = 0.0
        self._last_busy_s, self._worked_until_s = None, 0.0

    def record_busy_time(self, busy_s: float) -> None:
        """Record how long the silent process has computed, or waited for a core, since it began. This falls
        when a thread ends, which takes its waits along.
        """
        idle_s = self.silent_s - self._worked_until_s
        if self._last_busy_s is None or busy_s < self._last_busy_s:
            self._last_busy_s = busy_s
        elif busy_s - self._last_busy_s >= _WORKING_SHARE * idle_s:
            self._last_busy_s, self._worked_until_s = busy_s, self.silent_s

    @property
    def state(self) -> Literal["well", "late", "hung"]:
        """Judgement of the current silence."""
        idle_s = self.silent_s - self._worked_until_s
        longest_s = max(self._supervision.hang_s, self._supervision.working_s)
        if idle_s >= self._supervision.hang_s or self.silent_s >= longest_s:
            return "hung"
        return "late" if self.silent_s >= self._supervision.late_s else "well"


class Restarts:
    """Restart policy of a process. random: draws from [0, 1)."""

    def __init__(self, supervision: Supervision, random: Callable[[], float]) -> None:
        self._backoff = supervision.backoff
        self._random = random
        self._starts_left = STARTS_IN_A_ROW - 1
        self._ready_since_s: float | None = None
        self._failures = 0
        self.was_ready = False
        """True once the process was ready."""

    def ready(self, now_s: float) -> None:
        """Record that the process is ready."""
        self.was_ready = True
        self._ready_since_s = now_s

    def lost(self, now_s: float, reason_reported: bool) -> float | None:
        """Return the seconds until a restart of a process that died, or None to give it up.

        reason_reported: it reported a reason. A process that was ever ready is never given up. Its first
        restart is immediate; further ones wait longer each time, until one has run for as long as the
        longest wait.
        """
        if not self.was_ready:
            self._starts_left -= 1
            # A reason reported at the first start, such as a missing model, is a mistake in the settings.
            return None if reason_reported or self._starts_left < 0 else 0.0
        ready_since_s, self._ready_since_s = self._ready_since_s, None
        if ready_since_s is not None and now_s - ready_since_s >= self._backoff.max_s:
            self._failures = 0
        self._failures += 1
        return 0.0 if self._failures == 1 else self._backoff.wait_s(self._failures - 1, self._random)
