"""Marks in the agent's audio, which measure how much of a response has been played."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import count

EVERY_FRAMES = 7
"""Frames between two marks: 0.14 s, or 0.42 s where a frame is three times as long. Between marks playout is
estimated.
"""
MAX_PENDING = 256


@dataclass(frozen=True, slots=True)
class Played:
    """Playout of a response, in samples. last: the response has been played to its end."""

    response_id: str
    samples: int
    last: bool


class Marks:
    """Marks sent to a provider and not yet reached, by name: they tell how much audio was played."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._pending: OrderedDict[str, Played] = OrderedDict()
        self._response_id = ""
        self._frames = self._samples = 0

    def sent(self, response_id: str, samples: int) -> str | None:
        """Count a sent frame. Return the name of the mark to send after it, None if none is due.

        The first frame of a response gets one: it measures the provider's playout delay.
        """
        if response_id != self._response_id:
            self._response_id, self._frames, self._samples = response_id, 0, 0
        self._samples += samples
        self._frames += 1
        return self._name(last=False) if self._frames % EVERY_FRAMES == 1 else None

    def ended(self, response_id: str) -> str | None:
        """Return the name of the mark at the end of a response, None if it had no audio."""
        return self._name(last=True) if response_id == self._response_id and self._frames else None

    def played(self, name: str) -> Played | None:
        """Return the playout that a returned mark stands for; None for an unknown or cleared one."""
        played = self._pending.get(name)
        while played is not None and self._pending.popitem(last=False)[0] != name:
            pass  # marks return in order: older ones are lost
        return played

    def clear(self) -> None:
        """Forget all marks: the audio was dropped, so those that still return mean nothing."""
        self._pending.clear()
        self._response_id = ""

    def _name(self, last: bool) -> str:
        name = str(next(self._numbers))
        self._pending[name] = Played(self._response_id, self._samples, last)
        if len(self._pending) > MAX_PENDING:
            self._pending.popitem(last=False)
        return name
