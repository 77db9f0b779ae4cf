"""What the LLM says of the end of a turn, as a witness beside the others. Pure.

A language model that has read people's messages knows how probable it is that a sentence, or the message,
ends after the words so far, in any language that it speaks: the summed probability of full stop, question
mark, new line and end mark (`llmcore/text/closing_tokens.py`). No two models mean the same by it, so the log
odds are scaled to what one model got right (Platt, "Probabilistic Outputs for Support Vector Machines",
1999): `voiceagent calibrate` finds the numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MARKS = " \t\n.,;:!?…。，！？、¡¿"
"""Left out, as a recognizer guesses them and they have witnesses of their own: behind "a table for." a
message may well end."""
MOST_NATS = 3.0
"""What the LLM can add or take at most: it hears nothing, and the words may be misheard."""
_SUREST = -1e-9


@dataclass(frozen=True, slots=True)
class LlmEnd:
    """How one model's word on an end is taken.

    scale, offset: of its log odds, in nats, so that the probabilities hold where nothing else is known.
    weight: of what comes out, beside the witnesses of the words, which know part of it.
    """

    scale: float
    offset: float
    weight: float

    def nats(self, log_probability: float) -> float:
        """What it adds to the log odds that the turn is over. log_probability: of an end, by the model."""
        calibrated = self.scale * log_odds(log_probability) + self.offset
        return self.weight * min(max(calibrated, -MOST_NATS), MOST_NATS)


def bare(text: str) -> str:
    """The words that the LLM is asked about: those recognized, without the marks at their end."""
    return text.rstrip(MARKS)


def log_odds(log_probability: float) -> float:
    """The logarithm of the odds, in nats, of what has this logarithm of its probability."""
    certain = min(log_probability, _SUREST)
    return certain - math.log(-math.expm1(certain))
