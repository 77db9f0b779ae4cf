"""How much an engine computes in one step: limits that follow what steps take. Pure.

A prompt that is read lengthens the step for all whose replies are written in it. Larger steps read more
tokens a second, smaller ones keep replies even: the limit goes up by a part while all is well (additive
increase), and down at once by as much as the step was too long (multiplicative decrease), as TCP's window
does (Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer
Networks", 1989).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

WINDOW = 100
"""How many steps the 99th percentile is taken of, which is held to the bound; it begins anew after each
change."""
ROOM = 0.7
"""Full steps that stay below this part of the bound leave room for larger ones."""
FULL = 0.9
"""Steps with fewer tokens than this part of the limit tell nothing of what larger ones would take."""
STEPS_UP = 4
"""Full steps in a row below that, before the limit goes up."""
PARTS = 8
"""The limit goes up by one of this many parts of its range."""


@dataclass(frozen=True, slots=True)
class BatchBounds:
    """Between what the limits are, and what they keep to.

    max_tokens, min_tokens: of one step. max_sequences, min_sequences: replies computed at once. p99_s: of the
    time of a step, while replies are written.
    """

    max_tokens: int
    min_tokens: int
    max_sequences: int
    min_sequences: int
    p99_s: float


class BatchLimits:
    """tokens, sequences: what the next step may compute while replies are written."""

    def __init__(self, bounds: BatchBounds) -> None:
        self._bounds = bounds
        self._steps: deque[float] = deque(maxlen=WINDOW)
        self._well = 0
        self.tokens = bounds.max_tokens
        self.sequences = bounds.max_sequences

    def observe(self, step_s: float, tokens: int, sequences: int, waiting: int) -> None:
        """A step is over in which replies were written. tokens, sequences: computed in it. waiting: requests
        that found no place in it.
        """
        self._steps.append(step_s)
        if step_s > self._bounds.p99_s and self._p99_s() > self._bounds.p99_s:
            self._shrink(self._bounds.p99_s / step_s, tokens, sequences)
            return
        full = tokens >= FULL * self.tokens or (waiting > 0 and sequences >= self.sequences)
        if not full:
            return
        self._well = self._well + 1 if step_s < ROOM * self._bounds.p99_s else 0
        if self._well >= STEPS_UP:
            self._grow(waiting)

    def _p99_s(self) -> float:
        return sorted(self._steps)[math.ceil(0.99 * len(self._steps)) - 1]

    def _shrink(self, by: float, tokens: int, sequences: int) -> None:
        """Tokens of prompts first; where there are none left to spare, replies."""
        bounds = self._bounds
        if self.tokens > bounds.min_tokens:
            self.tokens = max(bounds.min_tokens, int(by * min(tokens, self.tokens)))
        else:
            self.sequences = max(bounds.min_sequences, int(by * min(sequences, self.sequences)))
        self._steps.clear()
        self._well = 0

    def _grow(self, waiting: int) -> None:
        """Room for those who wait first, then for more of their prompts."""
        bounds = self._bounds
        if waiting and self.sequences < bounds.max_sequences:
            part = math.ceil((bounds.max_sequences - bounds.min_sequences) / PARTS)
            self.sequences = min(bounds.max_sequences, self.sequences + part)
        else:
            part = math.ceil((bounds.max_tokens - bounds.min_tokens) / PARTS)
            self.tokens = min(bounds.max_tokens, self.tokens + part)
        self._well = 0
