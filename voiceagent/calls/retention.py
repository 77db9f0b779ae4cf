"""Which calls are kept no longer. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

DAY_S = 86_400.0
STEP_S = 60.0
"""A clock that is kept right goes no further in an hour, or in the time in which calls are looked through."""


class Retention(NamedTuple):
    """How long and how much is kept; 0 sets no limit."""

    days: float
    size_bytes: float


class Kept(Protocol):
    """What is known of a call here."""

    @property
    def state(self) -> str:
        """ "running" for one that goes on."""

    @property
    def started_at(self) -> float:
        """Unix seconds."""

    @property
    def size_bytes(self) -> int:
        """The size of its files."""


class SetClock:
    """Whether to believe the clock by which calls are old: one that was set forward may be set back, and what
    was deleted meanwhile is gone. All times are seconds.
    """

    def __init__(self) -> None:
        self._ahead_s: float | None = None

    def set_forward(self, now: float, monotonic_s: float) -> bool:
        """Whether it has gone more than `STEP_S` further than time has since it was asked before."""
        before_s, self._ahead_s = self._ahead_s, now - monotonic_s
        return before_s is not None and self._ahead_s - before_s > STEP_S


K = TypeVar("K", bound=Kept)


def expired(newest_first: Sequence[K], retention: Retention, now: float) -> Iterator[K]:
    """Calls that are older than is kept, and the oldest of those that are too many bytes together."""
    total = 0
    for call in newest_first:
        total += call.size_bytes
        old = retention.days and now - call.started_at > retention.days * DAY_S
        much = retention.size_bytes and total > retention.size_bytes
        if (old or much) and call.state != "running":
            yield call
