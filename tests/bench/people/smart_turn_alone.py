"""Smart Turn v3 as the only detector of the end of a turn, as in Pipecat: called at every short silence.

If it says that the turn continues, only a long silence ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from audio.detection.smart_turn import SmartTurn
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from people.outcome import Outcome
from voiceagent.transports.local_call import FORMAT

ASKED_AFTER_S = 0.2
"""Silence after which the model is called; Pipecat's VADParams(stop_secs=0.2)."""
LONGEST_S = 3.0
"""Silence that ends any turn: Pipecat's SmartTurnParams(stop_secs=3)."""
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class Judged:
    """A recording with decisions at silences of `ASKED_AFTER_S`, and the model's probabilities there."""

    outcome: Outcome
    probabilities: tuple[float, ...]

    def at(self, threshold: float) -> Outcome:
        """Return the outcome if probabilities from `threshold` on end the turn. Nothing is played."""
        times_s = self.outcome.decided_s or ()
        decided = []
        for at_s, next_s, probability in zip(
            times_s, (*times_s[1:], float("inf")), self.probabilities, strict=True
        ):
            if probability >= threshold:
                decided.append(at_s)
            elif next_s - at_s > LONGEST_S:
                decided.append(at_s + LONGEST_S - ASKED_AFTER_S)
        return Outcome(self.outcome.clip, tuple(decided), sounds=(), texts=None)


def judge_by_smart_turn(outcomes: Sequence[Outcome]) -> list[Judged]:
    """Call the model at the decisions of `run_silence_alone` with `ASKED_AFTER_S`.

    Raises TurnModelError.
    """
    return asyncio.run(_judge(outcomes))


async def _judge(outcomes: Sequence[Outcome]) -> list[Judged]:
    model = SmartTurn(None)
    await model.start()
    judged = []
    try:
        for outcome in outcomes:
            sound = resample(outcome.clip.sound, FORMAT.rate_hz, SAMPLE_RATE_HZ)
            said = [
                await model.complete(sound[: round(at_s * SAMPLE_RATE_HZ)])
                for at_s in outcome.decided_s or ()
            ]
            judged.append(Judged(outcome, tuple(said)))
    finally:
        await model.close()
    return judged
