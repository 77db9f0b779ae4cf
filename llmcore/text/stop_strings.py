"""Ends a reply at the first stop string, and never lets out the beginning of one."""

from __future__ import annotations

from collections.abc import Iterable


def held_back(text: str, marks: Iterable[str]) -> int:
    """How many characters at the end of `text` begin one of `marks` without completing it; 0 for none."""
    longest = max((len(mark) for mark in marks), default=0) - 1
    for length in range(min(longest, len(text)), 0, -1):
        ending = text[-length:]
        if any(len(mark) > length and mark.startswith(ending) for mark in marks):
            return length
    return 0


class StopStrings:
    """Passes text on up to the first stop string, which is left out; `stopped` says that it was met."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.stopped = False

    def push(self, text: str) -> str:
        """Take the next text; returns what may be said for certain. After a stop it is always ""."""
        if self.stopped:
            return ""
        text = self._held + text
        found = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        certain = len(text) - held_back(text, self._stops)
        self._held = text[certain:]
        return text[:certain]

    def finish(self) -> str:
        """The reply is over: returns what was held back for a stop string that never came."""
        held, self._held = self._held, ""
        return held
