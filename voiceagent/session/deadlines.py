"""What a call waits for, and for how long it may. Pure: times are seconds of one clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from voiceagent.session.config import SILENCE_TOLD_S


class Awaited(NamedTuple):
    """Something that an engine owes a call.

    owner: the turn or the response that it is for. stage: the engine. what: in words, such as "first sound".
    """

    owner: str
    stage: str
    what: str


class Overdue(NamedTuple):
    """What was waited for, and for how long; whether it is given up now, or only logged."""

    awaited: Awaited
    waited_s: float
    given_up: bool


@dataclass(slots=True)
class _Wait:
    awaited: Awaited
    since_s: float
    limit_s: float
    told: bool = False


class Deadlines:
    """The waits of one call, one for each owner and stage: a new one takes the place of the old."""

    def __init__(self) -> None:
        self._waits: dict[tuple[str, str], _Wait] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._waits)

    def begin(self, awaited: Awaited, limit_s: float, now_s: float) -> None:
        """It is waited for from now on, for `limit_s` at most."""
        self._waits[awaited[:2]] = _Wait(awaited, now_s, limit_s)

    def end(self, owner: str, stage: str) -> None:
        """It came, or nobody waits for it any more."""
        self._waits.pop((owner, stage), None)

    def excuse(self, seconds: float) -> None:
        """This process itself stood still for that time: nobody else was late."""
        for wait in self._waits.values():
            wait.since_s += seconds

    def overdue(self, now_s: float) -> Iterator[Overdue]:
        """The waits that are given up now; and, once each, those that last long enough to be logged."""
        for key, wait in list(self._waits.items()):
            waited_s = now_s - wait.since_s
            if waited_s >= wait.limit_s:
                # at once: whoever gives it up may begin another under the same key
                del self._waits[key]
                yield Overdue(wait.awaited, waited_s, given_up=True)
            elif waited_s >= SILENCE_TOLD_S and not wait.told:
                wait.told = True
                yield Overdue(wait.awaited, waited_s, given_up=False)
