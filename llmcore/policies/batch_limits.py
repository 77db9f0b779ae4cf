"""Adaptive limits of an engine step: tokens and sequences, adjusted to measured step times.

Prefill lengthens the step for every reply decoded in it. Larger steps raise prefill throughput, smaller ones
keep the time between tokens even. The limit rises by a constant while steps are fast (additive increase) and
falls in proportion to the excess when a step is too long (multiplicative decrease), like TCP's congestion
window (Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer
Networks", 1989).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

WINDOW = 100
"""Steps over which the 99th percentile is taken. The window is cleared after each change."""
FAST_SHARE = 0.7
"""Share of the bound below which a full step counts as fast."""
FULL_SHARE = 0.9
"""Share of the token limit from which a step counts as full. Smaller steps say nothing about larger ones."""
FAST_STEPS = 4
"""Consecutive fast full steps before the limit rises."""
INCREMENTS = 8
"""Increments between the lower and the upper limit."""


@dataclass(frozen=True, slots=True)
class BatchBounds:
    """Range of the limits and the target that they are held to.

    max_tokens, min_tokens: per step. max_sequences, min_sequences: replies computed at once. p99_s: bound of
    the 99th percentile of step time while replies are decoded.
    """

    max_tokens: int
    min_tokens: int
    max_sequences: int
    min_sequences: int
    p99_s: float


class BatchLimits:
    """Current limits. tokens, sequences: maximum of the next step while replies are decoded."""

    def __init__(self, bounds: BatchBounds) -> None:
        self._bounds = bounds
        self._steps: deque[float] = deque(maxlen=WINDOW)
        self._fast_steps = 0
        self.tokens = bounds.max_tokens
        self.sequences = bounds.max_sequences

    def observe(self, step_s: float, tokens: int, sequences: int, waiting: int) -> None:
        """Record a step that decoded replies. tokens, sequences: in the step. waiting: requests left out."""
        self._steps.append(step_s)
        if step_s > self._bounds.p99_s and self._p99_s() > self._bounds.p99_s:
            self._shrink(self._bounds.p99_s / step_s, tokens, sequences)
            return
        full = tokens >= FULL_SHARE * self.tokens or (waiting > 0 and sequences >= self.sequences)
        if not full:
            return
        self._fast_steps = self._fast_steps + 1 if step_s < FAST_SHARE * self._bounds.p99_s else 0
        if self._fast_steps >= FAST_STEPS:
            self._grow(waiting)

    def _p99_s(self) -> float:
        return sorted(self._steps)[math.ceil(0.99 * len(self._steps)) - 1]

    def _shrink(self, by: float, tokens: int, sequences: int) -> None:
        """Reduce prefill tokens first, and concurrent replies once tokens are at their minimum."""
        bounds = self._bounds
        if self.tokens > bounds.min_tokens:
            self.tokens = max(bounds.min_tokens, int(by * min(tokens, self.tokens)))
        else:
            self.sequences = max(bounds.min_sequences, int(by * min(sequences, self.sequences)))
        self._steps.clear()
        self._fast_steps = 0

    def _grow(self, waiting: int) -> None:
        """Raise the limit on sequences if requests wait, else that on tokens."""
        bounds = self._bounds
        if waiting and self.sequences < bounds.max_sequences:
            part = math.ceil((bounds.max_sequences - bounds.min_sequences) / INCREMENTS)
            self.sequences = min(bounds.max_sequences, self.sequences + part)
        else:
            part = math.ceil((bounds.max_tokens - bounds.min_tokens) / INCREMENTS)
            self.tokens = min(bounds.max_tokens, self.tokens + part)
        self._fast_steps = 0
