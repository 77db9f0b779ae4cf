"""Agent audio that a provider has not reported as played: a new stream of the call gets it again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from audio.pcm import Samples

MAX_SAMPLES = 720_000
"""30 s at 24 kHz. A dead connection is noticed after 15 to 20 s."""


class Unplayed:
    """Frames and the names of marks, in the order in which they were sent. The oldest are dropped if they
    exceed `MAX_SAMPLES`.
    """

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
