"""Whether speculative decoding pays for the next reply. Pure.

A draft is on trial until enough of its proposals were right, and again after it was left out for a while. It
is judged by Hoeffding's bound ("Probability Inequalities for Sums of Bounded Random Variables", 1963) on the
part of each proposal that was accepted: as soon as the true mean is surely on one side of the limit, the
trial is over, so that a bad draft costs a few steps and not a whole window. A draft that is right often
enough is left out all the same where replies were measured to end no sooner with it (`break_even`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from llmcore.engine import EngineLoad
from llmcore.policies.break_even import BreakEven
from llmcore.policies.circuit_breaker import Backoff

State = Literal["trial", "on", "off"]
Reason = Literal["pays", "trial", "comparison", "acceptance", "cost", "streams", "short"]

ERROR_CHANCE = 0.01
"""Chance that the bound is wrong about a draft, each time it is asked."""
TRIAL_PROPOSALS = 16
"""How many proposals a reply may get while the draft is on trial: a good draft needs about as many to pass.
"""
SURELY_BAD = 2
"""After so many failed trials in a row, nothing is done any more for a draft that is left out."""
READS_BEFORE_S = 10.0
"""How long before a trial the draft reads again: its first reply's prompt may be prefilled now."""
FIRST_FRAGMENT = 12
"""Tokens of a reply that are written before a draft takes part in it: those that a caller waits for."""
WEIGHT = 0.1
"""The weight of the newest reply in the mean length."""


@dataclass(frozen=True, slots=True)
class SpeculationLimits:
    """Where speculation stops paying.

    min_acceptance: part of the proposed tokens that must be right, 0 to 1. window: proposals that are
    judged together. max_streams: replies written at once; more fill the processor without it. min_tokens:
    expected length of a reply. retry: how long a bad draft is left out, longer with each trial that fails.
    """

    min_acceptance: float
    window: int
    max_streams: int
    min_tokens: int
    retry: Backoff


@dataclass(frozen=True, slots=True)
class Decision:
    """proposals: how many may be made for a reply, from its token `begins_at` on; None sets no limit."""

    proposals: int | None
    reason: Reason
    begins_at: int = FIRST_FRAGMENT


@dataclass(frozen=True, slots=True)
class ReplyTimes:
    """A whole reply: its tokens, the time to the first, and the mean time of each after that, in seconds."""

    tokens: int
    ttft_s: float
    token_s: float


class Speculation:
    """Decides for each reply. Times are seconds of one clock.

    state: whether the draft is tried, used or left out. acceptance: part of the proposed tokens that were
    right when it was last looked at, None before the first.
    """

    def __init__(self, limits: SpeculationLimits) -> None:
        self._limits = limits
        self.state: State = "trial"
        self.acceptance: float | None = None
        self._why_off: Reason = "acceptance"
        self._break_even = BreakEven()
        self._failed_trials = 0
        self._retry_at_s = 0.0
        self._mean_tokens = math.inf  # until a reply has come to its end
        self._before = (0, 0, 0)
        self._start_window()

    @property
    def why_off(self) -> Reason | None:
        """ "acceptance" or "cost" while the draft is left out."""
        return self._why_off if self.state == "off" else None

    def decide(self, now_s: float, streams: int, max_tokens: int) -> Decision:
        """Decide for a reply of at most `max_tokens`. streams: replies that are written at once, this one
        included.
        """
        if streams > self._limits.max_streams:
            return Decision(0, "streams")
        if self._short(max_tokens):
            return Decision(0, "short")
        if self.state == "off" and now_s < self._retry_at_s:
            return Decision(0, self._why_off)
        if self.state == "off":
            self.state = "trial"
            self._break_even.forget()
            self._start_window()
        if self.state == "trial":
            return Decision(TRIAL_PROPOSALS, "trial")
        return Decision(0, "comparison") if self._break_even.wants_plain() else Decision(None, "pays")

    def draft_reads(self, now_s: float) -> bool:
        """Whether the draft reads prompts, in which it may propose nothing, for the time when it is back.

        Not where replies are too short for it, or so many are never written at once. After a second trial
        that failed only from shortly before the next. What is cached until then lacks its part: that is to
        its disadvantage in the trial, with calls that were there before.
        """
        if self._short(math.inf) or self._limits.max_streams == 0:
            return False
        surely_bad = self.state == "off" and self._failed_trials >= SURELY_BAD
        return not surely_bad or now_s >= self._retry_at_s - READS_BEFORE_S

    def observe(self, now_s: float, load: EngineLoad) -> None:
        """Take in the engine's counts of proposals and of tokens, which are since its start."""
        totals = (load.drafts or 0, load.drafted or 0, load.accepted or 0)
        if totals[0] < self._before[0]:
            self._before = (0, 0, 0)  # the engine was started again
        news = [total - before for total, before in zip(totals, self._before, strict=True)]
        self._before = totals
        if self.state == "off" or news[1] <= 0:
            return  # what is left out now had been begun before
        self._drafts += news[0]
        self._drafted += news[1]
        self._accepted += news[2]
        self._judge(now_s, self._accepted / self._drafted)

    def reply_over(self, now_s: float, decision: Decision, times: ReplyTimes) -> None:
        """A reply that `decision` was made for came to its end."""
        known = math.isfinite(self._mean_tokens)
        self._mean_tokens = (
            (1 - WEIGHT) * self._mean_tokens + WEIGHT * times.tokens if known else times.tokens
        )
        compared = decision.reason in ("pays", "comparison") and times.tokens > decision.begins_at
        if self.state != "on" or not compared:
            return
        self._break_even.observe(times.ttft_s, times.token_s, drafted=decision.reason == "pays")
        if self._break_even.pays(self._mean_tokens) is False:
            self._leave_out(now_s, "cost")
            self._break_even.forget()

    def _judge(self, now_s: float, acceptance: float) -> None:
        self.acceptance = acceptance
        minimum, full = self._limits.min_acceptance, self._drafts >= self._limits.window
        margin = math.sqrt(math.log(1 / ERROR_CHANCE) / (2 * self._drafts)) if self._drafts else math.inf
        if acceptance + margin < minimum or (full and acceptance < minimum):
            self._leave_out(now_s, "acceptance")
        elif full or (self.state == "trial" and acceptance - margin >= minimum):
            self.state = "on"
            self._failed_trials = 0
            self._start_window()

    def _leave_out(self, now_s: float, why: Reason) -> None:
        self._failed_trials += 1
        self._retry_at_s = now_s + self._limits.retry.wait_s(self._failed_trials, lambda: 1.0)
        self.state, self._why_off = "off", why

    def _short(self, max_tokens: float) -> bool:
        return min(max_tokens, self._mean_tokens) < self._limits.min_tokens

    def _start_window(self) -> None:
        self._drafts = self._drafted = self._accepted = 0
