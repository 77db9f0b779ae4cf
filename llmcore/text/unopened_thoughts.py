"""Whether what a reply begins with may be a thought whose end alone is marked. Pure.

Some models' templates open the thought in the prompt, and servers that do not know of it send the rest of it
as words: "The caller wants a table.</think>Your table is booked." Only the end of the thought tells, and
words
that were said cannot be taken back. So the first words of a reply are held back while they may be such a
thought: where the model was seen to do that; in the first reply of a model that is not known, which in a
server is the warm-up's; and where they begin as thoughts do.
"""

from __future__ import annotations

DOUBT_S = 0.5
"""Longest time for which words are held back that only may be a thought: a caller waits for them."""

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
"""In small letters. A reply that begins otherwise is not held back."""


class ThoughtHabit:
    """What one model's replies have shown."""

    def __init__(self) -> None:
        self._state = "unknown"

    @property
    def limit_s(self) -> float | None:
        """The longest time for which words are held back; None for the whole reply."""
        return None if self._state == "unopened" else DOUBT_S

    def doubts(self, text: str) -> bool:
        """Return whether the text that a reply begins with may be a thought."""
        return self._state != "plain" or _begins_as_thoughts_do(text)

    def observe(self, unopened: bool) -> None:
        """Take in a reply. unopened: it had a thought whose end alone was marked."""
        if unopened:
            self._state = "unopened"
        else:  # one reply without it may be an exception of a model that was seen to do it
            self._state = "unknown" if self._state == "unopened" else "plain"


def _begins_as_thoughts_do(text: str) -> bool:
    """Also of a text that is too short to tell."""
    begins = text.lstrip().lower()
    return any(begins.startswith(opening) or opening.startswith(begins) for opening in _OPENINGS)
