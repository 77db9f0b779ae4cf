"""Schedule of background prefill: prompts that no caller waits for yet are read without slowing answers much.

A step that reads a prompt takes several times as long as one that only writes: it computes more, and on a GPU
it cannot use the CUDA graphs of decoding. Three rules keep the time between tokens even:

- The more answers are being written, the rarer such steps are, as each of them delays every answer.
- Prompts that do not fill a step are collected for a moment: leaving the CUDA graphs costs the same for one
  prompt as for several.
- The next such step is chosen only after the previous one has ended. A caller's prompt that arrives meanwhile
  waits for one of them, not for two.
"""

from __future__ import annotations

import math

REST = 0.15
"""Pause after a background step for each answer being written, as a share of the step's time. Less makes
answers longer; more leaves prompts unread at the turn's end (both in tests/bench/results/llm.md).
"""
GATHER_S = 0.2
"""Pause after a background step while the unread prompts do not fill the next one."""


class BackgroundPrefill:
    """Pace of background steps. Times are seconds of one clock. piece_tokens: most prompt tokens a step."""

    def __init__(self, piece_tokens: int) -> None:
        self._piece_tokens = piece_tokens
        self._in_flight = 0
        self._step_s, self._ended_s = 0.0, -math.inf

    def may_start(self, now_s: float, writing: int, unread_tokens: int) -> bool:
        """Return True if the next step may read in the background.

        writing: answers that are written in the same step. unread_tokens: total of the waiting prompts.
        """
        if self._in_flight:
            return False
        if not writing:
            return True
        rest_s = REST * writing * self._step_s
        if unread_tokens < self._piece_tokens:
            rest_s = max(rest_s, GATHER_S)
        return now_s >= self._ended_s + rest_s

    def begin(self) -> None:
        """Count a background step whose computation begins."""
        self._in_flight += 1

    def end(self, now_s: float, step_s: float) -> None:
        """Record the end of a background step. step_s: its duration."""
        self._in_flight -= 1
        self._step_s, self._ended_s = step_s, now_s
