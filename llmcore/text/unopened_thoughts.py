"""Detection of replies that may begin with a thought that has only an end mark.

Some models' templates open the thought in the prompt, and servers without support for it send the rest of the
thought as words: "The caller wants a table.</think>Your table is booked." Only the end mark reveals it, and
words already spoken cannot be withdrawn. So the first words of a reply are held back if they may be such a
thought: from a model that has done so before, in the first reply of an unknown model (in a server, the
warm-up's), and in replies that begin as thoughts do.
"""

from __future__ import annotations

DOUBT_S = 0.5
"""Longest time for which words are held back as a possible thought, as a caller waits for them."""

_OPENINGS = (
    *("the user", "the caller", "the customer", "user ", "caller "),
    *(
        "okay, the",
        "okay, so the",
        "okay, let me think",
        "ok, the user",
        "ok, so the user",
        "alright, the user",
    ),
    *("so the user", "so the caller", "we need to", "we should ", "let me think", "hmm", "first, i need to"),
    "i need to figure",
)
"""Beginnings of thoughts, in lower case. A reply that begins in another way is not held back."""


class ThoughtHabit:
    """Judgement, learned from a model's replies, whether it writes thoughts with an end mark alone."""

    def __init__(self) -> None:
        self._state = "unknown"

    @property
    def limit_s(self) -> float | None:
        """Longest time for which words are held back; None for the whole reply."""
        return None if self._state == "unopened" else DOUBT_S

    def doubts(self, text: str) -> bool:
        """Return True if the beginning of a reply may be a thought."""
        return self._state != "plain" or _begins_as_thoughts_do(text)

    def observe(self, unopened: bool) -> None:
        """Record a reply. unopened: it contained a thought with only an end mark."""
        if unopened:
            self._state = "unopened"
        else:  # one reply without it may be an exception
            self._state = "unknown" if self._state == "unopened" else "plain"


def _begins_as_thoughts_do(text: str) -> bool:
    """Return True if the text begins as thoughts do, or is too short to decide."""
    begins = text.lstrip().lower()
    return any(begins.startswith(opening) or opening.startswith(begins) for opening in _OPENINGS)
