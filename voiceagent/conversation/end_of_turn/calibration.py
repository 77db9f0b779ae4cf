"""How well one model tells the end of turns, and how its word is to be taken. Pure.

Scale and offset are those of Platt ("Probabilistic Outputs for Support Vector Machines", 1999), by the
method of Lin, Lin and Weng ("A Note on Platt's Probabilistic Outputs", 2007), with whole turns and cut ones
counted half each: what comes out is kept to where an end is as likely as not. The weight is what log loss
asks for beside the witnesses of the words. All figures are of turns that were left out of the fit (a fifth
at a time).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.end_of_turn.llm_end import MOST_NATS, LlmEnd, log_odds

FOLDS = 5
BINS = 10
STEPS = 100
LEAST_AUC = 0.7
"""Below it the model's word is not worth the step that it costs: the witnesses of the words reach 0.8 to
0.95."""
WEIGHTS = tuple(tenth / 10 for tenth in range(11))

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Heard:
    """Words after which a caller fell silent. turn: which one they are of. over: whether that was its end.
    log_probability: of an end, by the LLM. others: what the other witnesses add, in nats.
    """

    turn: int
    over: bool
    log_probability: float
    others: float


@dataclass(frozen=True, slots=True)
class Quality:
    """auc: area under ROC. brier: mean squared error of the probability. ece: expected calibration error, by
    tenths of it. Whole and cut turns count half each.
    """

    auc: float
    brier: float
    ece: float


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What was found. told: by the model as it is. fitted: once calibrated. others: by the other witnesses
    alone; together: with the model's word among them.
    """

    end: LlmEnd
    told: Quality
    fitted: Quality
    others: Quality
    together: Quality

    @property
    def why_off(self) -> str:
        """Why it is better not to ask the model, "" where its word is worth the step that it costs."""
        auc = self.told.auc
        if auc < LEAST_AUC or self.end.scale <= 0:
            return f"this model does not tell the end of turns (AUC {auc:.2f}, at least {LEAST_AUC})"
        if self.end.weight == 0 or self.together.brier >= self.others.brier:
            return "this model tells no more of the end of turns than the other witnesses do"
        return ""


def calibrate(heard: Sequence[Heard]) -> Calibrated:
    """Fit one model's word on these. Raises ValueError where whole or cut turns are too few."""
    over = np.array([one.over for one in heard], bool)
    folds = np.array([one.turn for one in heard]) % FOLDS
    if min(over.sum(), (~over).sum()) < FOLDS or len(set(folds)) < FOLDS:
        raise ValueError(f"{over.sum()} ends and {(~over).sum()} pauses; allowed: at least {FOLDS} of each")
    odds = np.array([log_odds(one.log_probability) for one in heard])
    others = np.array([one.others for one in heard])
    fitted, together = np.zeros(len(heard)), np.zeros(len(heard))
    for fold in range(FOLDS):
        kept, out = folds != fold, folds == fold
        end = _fit(odds[kept], others[kept], over[kept])
        fitted[out] = _nats(end, odds[out])
        together[out] = others[out] + end.weight * fitted[out]
    qualities = (quality(logits, over) for logits in (odds, fitted, others, together))
    return Calibrated(_fit(odds, others, over), *qualities)


def quality(logits: Floats, over: Bools) -> Quality:
    """How good log odds are, [n], of what was over or not, [n]."""
    probabilities, counts = _sigmoid(logits), _halves(over)
    error = probabilities - over
    places = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    ece = sum(abs((counts * error)[places == place].sum()) for place in range(BINS))
    ends, pauses = logits[over][:, None], logits[~over][None]
    auc = ((ends > pauses) + 0.5 * (ends == pauses)).mean()
    return Quality(float(auc), float((counts * error**2).sum()), float(ece))


def _fit(odds: Floats, others: Floats, over: Bools) -> LlmEnd:
    scale, offset = platt(odds, over)
    calibrated = _nats(LlmEnd(scale, offset, 1.0), odds)
    weight = min(WEIGHTS, key=lambda weight: _log_loss(others + weight * calibrated, over))
    return LlmEnd(round(scale, 3), round(offset, 2), weight)


def platt(odds: Floats, over: Bools) -> tuple[float, float]:
    """Scale and offset of log odds, [n], that make what was over, [n], likeliest, by Newton's method."""
    counts = _halves(over)
    ends, pauses = int(over.sum()), int((~over).sum())
    # not 1 and 0: so many have been seen, and no more
    targets = np.where(over, (ends + 1) / (ends + 2), 1 / (pauses + 2))
    seen = np.stack([odds, np.ones_like(odds)])
    found = np.zeros(2)

    def loss(at: Floats) -> float:
        logits = at @ seen
        return float((counts * (np.logaddexp(0, logits) - targets * logits)).sum())

    for _ in range(STEPS):
        probabilities = _sigmoid(found @ seen)
        gradient = seen @ (counts * (probabilities - targets))
        curvature = (seen * (counts * probabilities * (1 - probabilities))) @ seen.T + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        found = _descend(loss, found, step)
        if np.abs(gradient).max() < 1e-9:
            break
    return float(found[0]), float(found[1])


def _descend(loss: Callable[[Floats], float], at: Floats, step: Floats) -> Floats:
    """A step that lessens the loss, halved until it does; where none does, none."""
    before = loss(at)
    for _ in range(30):
        if loss(at - step) < before:
            return at - step
        step = step / 2
    return at


def _nats(end: LlmEnd, odds: Floats) -> Floats:
    nats: Floats = np.clip(end.scale * odds + end.offset, -MOST_NATS, MOST_NATS)
    return nats


def _log_loss(logits: Floats, over: Bools) -> float:
    return float((_halves(over) * np.logaddexp(0, np.where(over, -logits, logits))).sum())


def _halves(over: Bools) -> Floats:
    """The weight of each, [n]: all that were over count one half together, all that were not the other."""
    return np.where(over, 0.5 / over.sum(), 0.5 / (~over).sum())


def _sigmoid(logits: Floats) -> Floats:
    probabilities: Floats = 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
    return probabilities
