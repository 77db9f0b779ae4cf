"""Marks in the agent's sound: how much of a response has been played. Pure."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import count

EVERY_FRAMES = 7
"""Frames between two marks, where the clock tells: 0.14 s, or 0.42 where a frame is three times as long. What
is played beyond the newest mark is unsure (`audio.playout.UNREPORTED_S`).
"""
MAX_PENDING = 256


@dataclass(frozen=True, slots=True)
class Played:
    """A number of samples of a response were played. last: that is all of it that was sent."""

    response_id: str
    samples: int
    last: bool


class Marks:
    """Names marks, and knows what they stand for until they come back."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._pending: OrderedDict[str, Played] = OrderedDict()
        self._response_id = ""
        self._frames = self._samples = 0

    def sent(self, response_id: str, samples: int) -> str | None:
        """A frame was sent; the name of the mark to send behind it, if one is due.

        The first one comes early: it tells how far behind the provider plays.
        """
        if response_id != self._response_id:
            self._response_id, self._frames, self._samples = response_id, 0, 0
        self._samples += samples
        self._frames += 1
        return self._name(last=False) if self._frames % EVERY_FRAMES == 1 else None

    def ended(self, response_id: str) -> str | None:
        """The response is sent; the name of the mark behind it, None where it had no sound."""
        return self._name(last=True) if response_id == self._response_id and self._frames else None

    def played(self, name: str) -> Played | None:
        """What a mark that came back stands for; None for one that is not ours, or no more."""
        played = self._pending.get(name)
        while played is not None and self._pending.popitem(last=False)[0] != name:
            pass  # marks come back in order: an older one is lost
        return played

    def clear(self) -> None:
        """What was sent was dropped: marks that still come back say nothing."""
        self._pending.clear()
        self._response_id = ""

    def _name(self, last: bool) -> str:
        name = str(next(self._numbers))
        self._pending[name] = Played(self._response_id, self._samples, last)
        if len(self._pending) > MAX_PENDING:
            self._pending.popitem(last=False)
        return name
