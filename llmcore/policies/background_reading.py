"""When prompts are read that no caller waits for yet, so that answers being written hardly slow down. Pure.

A step that reads a prompt takes several times as long as one that only writes: it computes more, and on a GPU
it leaves the CUDA graphs of writing. Three rules keep answers even:

- The more answers are written, the rarer such steps are, as each of them delays every answer.
- Prompts that do not fill a step are gathered for a moment: leaving the graphs costs the same for one
  prompt as for several.
- The next such step is chosen only when the one before is over. A caller's prompt that arrives meanwhile
  waits for one of them, not for two.
"""

from __future__ import annotations

import math

REST = 0.15
"""After a background step, this part of its time must pass for each answer being written. Less makes answers
longer, more leaves prompts unread at the turn's end: tests/bench/results/llm_virtual.md has both."""
GATHER_S = 0.2
"""How long after a background step prompts are gathered that do not fill the next one."""


class BackgroundReading:
    """Times are seconds of one clock. piece_tokens: of prompts, in one step at most."""

    def __init__(self, piece_tokens: int) -> None:
        self._piece_tokens = piece_tokens
        self._in_flight = 0
        self._took_s, self._over_s = 0.0, -math.inf

    def may_read(self, now_s: float, writing: int, unread_tokens: int) -> bool:
        """Return whether the next step may read in the background.

        writing: answers that are written in it too. unread_tokens: of all prompts that wait for this.
        """
        if self._in_flight:
            return False
        if not writing:
            return True
        rest_s = REST * writing * self._took_s
        if unread_tokens < self._piece_tokens:
            rest_s = max(rest_s, GATHER_S)
        return now_s >= self._over_s + rest_s

    def begin(self) -> None:
        """Count a step that reads in the background and is now computed."""
        self._in_flight += 1

    def end(self, now_s: float, step_s: float) -> None:
        """Record that such a step is over. step_s: the time it took."""
        self._in_flight -= 1
        self._took_s, self._over_s = step_s, now_s
