"""Calibration of a model's end-of-turn score, and its quality.

Scale and offset are those of Platt ("Probabilistic Outputs for Support Vector Machines", 1999), by the method
of Lin, Lin and Weng ("A Note on Platt's Probabilistic Outputs", 2007), with complete and incomplete turns
weighing half each, so that the result holds where an end is as likely as not. The weight minimises log loss
next to the features of the transcript. All figures are cross-validated (`FOLDS` folds).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.end_of_turn.llm_end import MAX_NATS, LlmEnd, log_odds

FOLDS = 5
BINS = 10
STEPS = 100
MIN_AUC = 0.7
"""Minimum AUC for which the model's score is worth a step: the transcript features reach 0.8 to 0.95."""
WEIGHTS = tuple(tenth / 10 for tenth in range(11))

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Heard:
    """A transcript after which a caller fell silent. turn: number of its turn. over: the turn ended there.
    log_probability: of an end, by the LLM. others: sum of the other features, in nats.
    """

    turn: int
    over: bool
    log_probability: float
    others: float


@dataclass(frozen=True, slots=True)
class Quality:
    """Quality of end-of-turn probabilities. auc: area under ROC. brier: mean squared error of the
    probability. ece: expected calibration error, by tenths of the probability. Complete and incomplete turns
    weigh half each.
    """

    auc: float
    brier: float
    ece: float


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Result of a calibration. raw: the model's raw score. fitted: calibrated. others: the other features
    alone; together: with the model's score.
    """

    end: LlmEnd
    raw: Quality
    fitted: Quality
    others: Quality
    together: Quality

    @property
    def why_off(self) -> str:
        """Reason not to ask the model, "" if its score is worth its LLM step."""
        auc = self.raw.auc
        if auc < MIN_AUC or self.end.scale <= 0:
            return f"this model does not tell the end of turns (AUC {auc:.2f}, at least {MIN_AUC})"
        if self.end.weight == 0 or self.together.brier >= self.others.brier:
            return "this model tells no more of the end of turns than the other witnesses do"
        return ""


def calibrate(heard: Sequence[Heard]) -> Calibrated:
    """Fit one model's score. Raises ValueError if there are too few complete or incomplete turns."""
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
    """Return the quality of log-odds, [n], for labels, [n]."""
    probabilities, counts = _sigmoid(logits), _label_weights(over)
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
    """Return scale and offset of log-odds [n] that fit labels [n] best (likelihood, by Newton's method)."""
    counts = _label_weights(over)
    ends, pauses = int(over.sum()), int((~over).sum())
    # smoothed targets instead of 1 and 0, as in Lin, Lin and Weng
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
    """Return `at` after a step that reduces the loss, halving it until it does; `at` if none does."""
    before = loss(at)
    for _ in range(30):
        if loss(at - step) < before:
            return at - step
        step = step / 2
    return at


def _nats(end: LlmEnd, odds: Floats) -> Floats:
    nats: Floats = np.clip(end.scale * odds + end.offset, -MAX_NATS, MAX_NATS)
    return nats


def _log_loss(logits: Floats, over: Bools) -> float:
    return float((_label_weights(over) * np.logaddexp(0, np.where(over, -logits, logits))).sum())


def _label_weights(over: Bools) -> Floats:
    """Return the weight of each label, [n]: all ends weigh one half together, all pauses the other."""
    return np.where(over, 0.5 / over.sum(), 0.5 / (~over).sum())


def _sigmoid(logits: Floats) -> Floats:
    probabilities: Floats = 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
    return probabilities
