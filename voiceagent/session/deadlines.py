"""The timeouts of a call. Times are seconds of one clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from voiceagent.engines.timeouts import TimeoutsConfig

LOG_WAIT_AFTER_S = 3.0
"""Waits longer than this are logged, so that every silence of 5 s has its reason in the log."""


@dataclass(frozen=True, slots=True)
class StageLimits:
    """Longest wait of a call for each stage of a turn, in seconds. After it, the caller hears the apology.

    turn_model_s: without the turn model's result, silence alone ends the turn. review_s: without its review,
    an answer stands.
    """

    transcript_s: float = 4.5
    first_token_s: float = 12.0
    token_s: float = 6.0
    first_audio_s: float = 4.0
    turn_model_s: float = 1.0
    review_s: float = 5.0

    @classmethod
    def of(cls, timeouts: TimeoutsConfig) -> StageLimits:
        """Return the limits of the configuration."""
        return cls(
            timeouts.transcript_s,
            timeouts.answer_s,
            timeouts.answer_token_s,
            timeouts.first_audio_s,
            review_s=timeouts.review_s,
        )


class Awaited(NamedTuple):
    """An engine's result that a call waits for.

    owner: the turn or response that needs it. stage: the engine. what: description, such as "first sound".
    """

    owner: str
    stage: str
    what: str


class Overdue(NamedTuple):
    """A wait that is overdue. waited_s: its length so far. given_up: it timed out, or is only logged."""

    awaited: Awaited
    waited_s: float
    given_up: bool


@dataclass(slots=True)
class _Wait:
    awaited: Awaited
    since_s: float
    limit_s: float
    logged: bool = False


class Deadlines:
    """The waits of one call, one for each owner and stage; a new one replaces the old."""

    def __init__(self) -> None:
        self._waits: dict[tuple[str, str], _Wait] = {}

    def __len__(self) -> int:
        return len(self._waits)

    def start(self, awaited: Awaited, limit_s: float, now_s: float) -> None:
        """Start a wait of at most `limit_s`."""
        self._waits[awaited[:2]] = _Wait(awaited, now_s, limit_s)

    def cancel(self, owner: str, stage: str) -> None:
        """Cancel the wait."""
        self._waits.pop((owner, stage), None)

    def excuse(self, seconds: float) -> None:
        """Extend all waits by the time for which this process stalled: the engines were not late."""
        for wait in self._waits.values():
            wait.since_s += seconds

    def overdue(self, now_s: float) -> Iterator[Overdue]:
        """Yield the waits that time out now; and, once each, those that last long enough to be logged."""
        for key, wait in list(self._waits.items()):
            waited_s = now_s - wait.since_s
            if waited_s >= wait.limit_s:
                # before yielding: handling the timeout may begin another wait under the same key
                del self._waits[key]
                yield Overdue(wait.awaited, waited_s, given_up=True)
            elif waited_s >= LOG_WAIT_AFTER_S and not wait.logged:
                wait.logged = True
                yield Overdue(wait.awaited, waited_s, given_up=False)
