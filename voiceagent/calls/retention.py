"""Selection of kept calls to delete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

DAY_S = 86_400.0
STEP_S = 60.0
"""Jump of the clock that counts as a step: a correct clock drifts less in an hour."""


class Retention(NamedTuple):
    """Limits of age and size; 0 for no limit."""

    days: float
    size_bytes: float


class StoredCall(Protocol):
    """The fields of a kept call that decide when it is deleted."""

    @property
    def state(self) -> str:
        """ "running" for a running call."""

    @property
    def started_at(self) -> float:
        """Unix seconds."""

    @property
    def size_bytes(self) -> int:
        """Size of its files."""


class ClockStepDetector:
    """Detects steps of the wall clock, by which calls expire: one that was set forward may be set back, but
    deleted calls are lost. All times are seconds.
    """

    def __init__(self) -> None:
        self._ahead_s: float | None = None

    def set_forward(self, now: float, monotonic_s: float) -> bool:
        """Return True if the clock advanced over `STEP_S` more than time since the last call."""
        before_s, self._ahead_s = self._ahead_s, now - monotonic_s
        return before_s is not None and self._ahead_s - before_s > STEP_S


K = TypeVar("K", bound=StoredCall)


def expired(newest_first: Sequence[K], retention: Retention, now: float) -> Iterator[K]:
    """Yield calls older than the limit, and the oldest ones beyond the size limit."""
    total = 0
    for call in newest_first:
        total += call.size_bytes
        old = retention.days and now - call.started_at > retention.days * DAY_S
        much = retention.size_bytes and total > retention.size_bytes
        if (old or much) and call.state != "running":
            yield call
