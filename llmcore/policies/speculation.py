"""Policy of speculative decoding: decides if a draft takes part in the next reply.

A draft is on trial until enough of its proposals were accepted, and again after a pause. It is judged by
Hoeffding's bound ("Probability Inequalities for Sums of Bounded Random Variables", 1963) on the accepted
share of each proposal: the trial ends as soon as the true mean is on one side of the limit with high
confidence, so that a bad draft costs a few steps and not a whole window. A draft that passes is still paused
if replies were measured to end no sooner with it (`BreakEven`).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Literal

from llmcore.engine_load import EngineLoad
from llmcore.policies.circuit_breaker import Backoff

MIN_REPLIES = 16
"""Replies of each kind needed for a comparison."""
MAX_REPLIES = 48
"""Newest replies of each kind that are compared."""
PLAIN_INTERVAL, LATER_PLAIN_INTERVAL = 3, 12
"""One in this many replies runs without the draft: until enough did, and then to follow the load."""
MAX_TTFT = 1.05
"""Largest ratio of the time to first token with the draft to that without. Callers wait for it."""


class BreakEven:
    """Reply times with and without a draft, in seconds.

    The acceptance rate does not include the draft's cost: its own forward passes and longer steps for every
    other sequence in the batch. So some replies run without the draft, interleaved with the others, and both
    are compared.
    """

    def __init__(self) -> None:
        self._drafted: deque[tuple[float, float]] = deque(maxlen=MAX_REPLIES)
        self._plain: deque[tuple[float, float]] = deque(maxlen=MAX_REPLIES)
        self._replies = 0

    def is_plain_due(self) -> bool:
        """Return True if the next reply must run without the draft, for comparison.

        Call once for each reply.
        """
        self._replies += 1
        every = PLAIN_INTERVAL if len(self._plain) < MIN_REPLIES else LATER_PLAIN_INTERVAL
        return self._replies % every == 0

    def observe(self, ttft_s: float, token_s: float, *, drafted: bool) -> None:
        """Record a completed reply: time to first token, and mean time of each token after it."""
        (self._drafted if drafted else self._plain).append((ttft_s, token_s))

    def pays(self, tokens: float) -> bool | None:
        """Return True if the draft shortens replies of this many tokens, or None if too few were measured."""
        if min(len(self._drafted), len(self._plain)) < MIN_REPLIES:
            return None
        ttft_s, token_s = _medians(self._drafted)
        plain_ttft_s, plain_token_s = _medians(self._plain)
        sooner = ttft_s + tokens * token_s < plain_ttft_s + tokens * plain_token_s
        return sooner and ttft_s <= MAX_TTFT * plain_ttft_s

    def reset(self) -> None:
        """Discard all measurements, which belong to another load."""
        self._drafted.clear()
        self._plain.clear()


def _medians(times: deque[tuple[float, float]]) -> tuple[float, float]:
    ttft_s, token_s = zip(*times, strict=True)
    # medians: a single reply delayed by a long prefill must not decide
    return median(ttft_s), median(token_s)


State = Literal["trial", "on", "off"]
Reason = Literal["pays", "trial", "comparison", "acceptance", "cost", "streams", "short"]

ERROR_CHANCE = 0.01
"""Probability that one verdict of the bound is wrong."""
TRIAL_PROPOSALS = 16
"""Proposals granted to a reply during a trial; a good draft needs about as many to pass."""
MAX_FAILED_TRIALS = 2
"""Failed trials in a row after which the paused draft no longer reads prompts."""
READS_BEFORE_S = 10.0
"""Time before a trial at which the draft reads prompts again: its first prompt may be prefilled now."""
FIRST_FRAGMENT = 12
"""Tokens of a reply written before a draft takes part: those that a caller waits for."""
WEIGHT = 0.1
"""Weight of the newest reply in the mean length."""


@dataclass(frozen=True, slots=True)
class SpeculationLimits:
    """Limits beyond which speculation does not pay.

    min_acceptance: smallest accepted share of the proposed tokens, 0 to 1. window: proposals judged together.
    max_streams: concurrent replies; more saturate the processor without speculation. min_tokens: expected
    length of a reply. retry: pause of a bad draft, longer after each failed trial.
    """

    min_acceptance: float
    window: int
    max_streams: int
    min_tokens: int
    retry: Backoff


@dataclass(frozen=True, slots=True)
class Decision:
    """A draft's part in one reply. proposals: maximum, None without one, from token `begins_at` on."""

    proposals: int | None
    reason: Reason
    begins_at: int = FIRST_FRAGMENT


@dataclass(frozen=True, slots=True)
class ReplyTimes:
    """A complete reply: its tokens, time to first token, and mean time of each later token, in seconds."""

    tokens: int
    ttft_s: float
    token_s: float


class Speculation:
    """State of a draft, and the decision for each reply. Times are seconds of one clock.

    state: on trial, on or off. acceptance: accepted share of the proposed tokens when last judged, None
    before.
    """

    def __init__(self, limits: SpeculationLimits) -> None:
        self._limits = limits
        self.state: State = "trial"
        self.acceptance: float | None = None
        self._why_off: Reason = "acceptance"
        self._break_even = BreakEven()
        self._failed_trials = 0
        self._retry_at_s = 0.0
        self._mean_tokens = math.inf  # until the first reply ends
        self._totals = (0, 0, 0)
        self._start_window()

    @property
    def why_off(self) -> Reason | None:
        """ "acceptance" or "cost" while the draft is off."""
        return self._why_off if self.state == "off" else None

    def decide(self, now_s: float, streams: int, max_tokens: int) -> Decision:
        """Decide for a reply of at most `max_tokens`. streams: concurrent replies, this one included."""
        if streams > self._limits.max_streams:
            return Decision(0, "streams")
        if self._is_too_short(max_tokens):
            return Decision(0, "short")
        if self.state == "off" and now_s < self._retry_at_s:
            return Decision(0, self._why_off)
        if self.state == "off":
            self.state = "trial"
            self._break_even.reset()
            self._start_window()
        if self.state == "trial":
            return Decision(TRIAL_PROPOSALS, "trial")
        return Decision(0, "comparison") if self._break_even.is_plain_due() else Decision(None, "pays")

    def should_draft_read(self, now_s: float) -> bool:
        """Return True if the draft should read prompts that it may propose nothing for, to be ready for its
        next trial.

        False if replies are too short for it or `max_streams` is 0. After `MAX_FAILED_TRIALS` failed trials,
        True only shortly before the next. Prompts cached before lack the draft's part, which lowers its
        acceptance in that trial for calls already open.
        """
        if self._is_too_short(math.inf) or self._limits.max_streams == 0:
            return False
        surely_bad = self.state == "off" and self._failed_trials >= MAX_FAILED_TRIALS
        return not surely_bad or now_s >= self._retry_at_s - READS_BEFORE_S

    def observe(self, now_s: float, load: EngineLoad) -> None:
        """Update from the engine's counters of proposals and tokens, which count from its start."""
        totals = (load.drafts or 0, load.drafted or 0, load.accepted or 0)
        if totals[0] < self._totals[0]:
            self._totals = (0, 0, 0)  # the engine was restarted
        new = [total - before for total, before in zip(totals, self._totals, strict=True)]
        self._totals = totals
        if self.state == "off" or new[1] <= 0:
            return  # these proposals belong to replies begun before the draft was turned off
        self._drafts += new[0]
        self._drafted += new[1]
        self._accepted += new[2]
        self._judge(now_s, self._accepted / self._drafted)

    def on_reply_done(self, now_s: float, decision: Decision, times: ReplyTimes) -> None:
        """Record a completed reply for which `decision` was made."""
        known = math.isfinite(self._mean_tokens)
        self._mean_tokens = (
            (1 - WEIGHT) * self._mean_tokens + WEIGHT * times.tokens if known else times.tokens
        )
        compared = decision.reason in ("pays", "comparison") and times.tokens > decision.begins_at
        if self.state != "on" or not compared:
            return
        self._break_even.observe(times.ttft_s, times.token_s, drafted=decision.reason == "pays")
        if self._break_even.pays(self._mean_tokens) is False:
            self._turn_off(now_s, "cost")
            self._break_even.reset()

    def _judge(self, now_s: float, acceptance: float) -> None:
        self.acceptance = acceptance
        minimum, full = self._limits.min_acceptance, self._drafts >= self._limits.window
        margin = math.sqrt(math.log(1 / ERROR_CHANCE) / (2 * self._drafts)) if self._drafts else math.inf
        if acceptance + margin < minimum or (full and acceptance < minimum):
            self._turn_off(now_s, "acceptance")
        elif full or (self.state == "trial" and acceptance - margin >= minimum):
            self.state = "on"
            self._failed_trials = 0
            self._start_window()

    def _turn_off(self, now_s: float, why: Reason) -> None:
        self._failed_trials += 1
        self._retry_at_s = now_s + self._limits.retry.wait_s(self._failed_trials, lambda: 1.0)
        self.state, self._why_off = "off", why

    def _is_too_short(self, max_tokens: float) -> bool:
        return min(max_tokens, self._mean_tokens) < self._limits.min_tokens

    def _start_window(self) -> None:
        self._drafts = self._drafted = self._accepted = 0
