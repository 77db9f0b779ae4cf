"""Agent audio under way at a provider: what has been played, and what a new stream of the call gets again."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from audio.pcm import Samples

EVERY_FRAMES = 7
"""Frames between two marks: 0.14 s, or 0.42 s of long frames. Between marks playout is estimated."""
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


MAX_SAMPLES = 720_000
"""30 s at 24 kHz. A dead connection is noticed after 15 to 20 s."""


class Unplayed:
    """Frames and names of marks, in the order sent. The oldest are dropped beyond `MAX_SAMPLES`."""

    def __init__(self) -> None:
        self._sent: deque[Samples | str] = deque()
        self._samples = 0

    def __iter__(self) -> Iterator[Samples | str]:
        return iter(tuple(self._sent))

    def add_frame(self, frame: Samples) -> None:
        """Add a frame that was sent."""
        self._sent.append(frame)
        self._samples += len(frame)
        while self._samples > MAX_SAMPLES:
            self._drop()

    def add_mark(self, name: str) -> None:
        """Add a mark that was sent."""
        self._sent.append(name)

    def played(self, name: str) -> None:
        """Drop all that was sent up to this mark; an unknown one changes nothing."""
        if name in (one for one in self._sent if isinstance(one, str)):
            while self._drop() != name:
                pass

    def clear(self) -> None:
        """Drop everything: it will not be played, or no mark will tell that it was."""
        self._sent.clear()
        self._samples = 0

    def _drop(self) -> str:
        """Drop the oldest. Return its name if it is a mark, else ""."""
        oldest = self._sent.popleft()
        if isinstance(oldest, str):
            return oldest
        self._samples -= len(oldest)
        return ""
