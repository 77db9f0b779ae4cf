"""The LLM's end-of-turn score, one of the features.

A language model trained on people's messages knows how probable it is that a sentence, or the message, ends
after the words so far, in any language that it speaks: the summed probability of full stop, question mark,
new line and end mark (`llmcore/text/closing_tokens.py`). Scores of two models are not comparable, so the
log-odds are scaled by calibration on one model (Platt, "Probabilistic Outputs for Support Vector Machines",
1999): `voiceagent calibrate` finds the values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MARKS = " \t\n.,;:!?…。，！？、¡¿"
"""Trailing punctuation that is left out: recognizers guess it, and it has features of its own. After "a table
for." a message may well end.
"""
MAX_NATS = 3.0
"""Maximum contribution of the LLM, either way: it has no audio, and the transcript may be wrong."""
_SUREST = -1e-9


@dataclass(frozen=True, slots=True)
class LlmEnd:
    """Calibration of one model's end-of-turn score.

    scale, offset: for its log-odds, in nats, so that the probabilities hold on their own. weight: of the
    result next to the transcript features, which overlap with it.
    """

    scale: float
    offset: float
    weight: float

    def nats(self, log_probability: float) -> float:
        """Return its contribution to the log-odds that the turn is over. log_probability: of an end."""
        calibrated = self.scale * log_odds(log_probability) + self.offset
        return self.weight * min(max(calibrated, -MAX_NATS), MAX_NATS)


def bare(text: str) -> str:
    """Return the transcript without trailing punctuation, as the LLM is asked about it."""
    return text.rstrip(MARKS)


def log_odds(log_probability: float) -> float:
    """Return the log-odds, in nats, of a log probability."""
    certain = min(log_probability, _SUREST)
    return certain - math.log(-math.expm1(certain))
