"""Stop strings: ends a reply at the first one, and holds back text that may begin one."""

from __future__ import annotations

from collections.abc import Iterable


def partial_mark_length(text: str, marks: Iterable[str]) -> int:
    """Return the number of trailing characters of `text` that begin, but do not complete, one of `marks`."""
    longest = max((len(mark) for mark in marks), default=0) - 1
    for length in range(min(longest, len(text)), 0, -1):
        ending = text[-length:]
        if any(len(mark) > length and mark.startswith(ending) for mark in marks):
            return length
    return 0


class StopStrings:
    """A filter that passes text up to the first stop string, dropped too. stopped: True once it was found."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.stopped = False

    def push(self, text: str) -> str:
        """Return the text that cannot belong to a stop string; "" after a stop."""
        if self.stopped:
            return ""
        text = self._held + text
        found = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        settled = len(text) - partial_mark_length(text, self._stops)
        self._held = text[settled:]
        return text[:settled]

    def finish(self) -> str:
        """Return the text still held back, at the end of the reply."""
        held, self._held = self._held, ""
        return held
