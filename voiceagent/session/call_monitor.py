"""Monitors one call: timeouts of its stages, and unexpected faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from voiceagent.conversation.causes import CallEndCode
from voiceagent.processes.rounds import InRound, rounds_of
from voiceagent.session.deadlines import Awaited, Deadlines, StageLimits
from voiceagent.session.services import Measuring

CHECK_INTERVAL_S = 0.25
"""Interval of the timeout check, so that a wait needs no timer of its own."""


EndCall = Callable[[str, CallEndCode], None]
"""Ends a call: the reason if the agent ended it, "" otherwise, and the code."""


class CallMonitor:
    """One timer for all timeouts of a call, which runs only while something is awaited.

    limits: maximum time of each stage. give_up: called with a wait that timed out, and the reason. end:
    ends the call.
    """

    def __init__(
        self,
        call_id: str,
        measuring: Measuring,
        limits: StageLimits,
        give_up: Callable[[Awaited, str], None],
        end: EndCall,
    ) -> None:
        self.limits = limits
        self._log = structlog.get_logger().bind(call=call_id)
        self._clock = measuring.clock
        self._faults = measuring.metrics.call_faults
        self._repeated = measuring.metrics.repeated
        self._reviewed = measuring.metrics.llm.reviewed
        self._give_up = give_up
        self._end = end
        self._deadlines = Deadlines()
        self._timer: asyncio.TimerHandle | InRound | None = None
        self._checked_s = 0.0

    def start_timeout(self, owner: str, stage: str, what: str, limit_s: float) -> None:
        """Start the timeout of a stage. It replaces an earlier one of this owner and stage."""
        now_s = self._clock()
        self._deadlines.start(Awaited(owner, stage, what), limit_s, now_s)
        if self._timer is None:
            self._arm(now_s)

    def cancel_timeout(self, owner: str, stage: str) -> None:
        self._deadlines.cancel(owner, stage)

    def log_timeout(self, stage: str, owner: str) -> None:
        """Log that an optional stage timed out."""
        self._log.warning("stage_timeout", stage=stage, owner=owner, given_up=True)

    def log_repetition(self, response_id: str) -> None:
        """Count and log that the LLM repeated itself and its response was ended."""
        self._repeated.inc()
        self._log.warning("response_repeats", response=response_id, ended=True)

    def log_review(self, response_id: str, outcome: str) -> None:
        """Count and log the outcome of a review by the back LLM."""
        self._reviewed(outcome)
        self._log.info("response_reviewed", response=response_id, outcome=outcome)

    def log_refusal(self, response_id: str, reason: str) -> None:
        """Log that a filter of the LLM server refused the answer."""
        self._log.warning("response_refused", response=response_id, reason=reason)

    def fault(self, where: str, error: BaseException) -> None:
        """Count and log an unexpected exception."""
        self._faults.labels(where.replace(" ", "_")).inc()
        self._log.error("call_error", where=where, exc_info=error)

    def fatal(self, where: str, error: BaseException) -> None:
        """Record a fault after which the call cannot continue, and end it."""
        self.fault(where, error)
        self._end("", "server_error")

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, now_s: float) -> None:
        self._checked_s = now_s
        # calls of a busy process check on one tick: checking costs less than waking up
        self._timer = rounds_of(asyncio.get_running_loop()).call_later(CHECK_INTERVAL_S, self._check)

    def _check(self) -> None:
        self._timer = None
        now_s = self._clock()
        if (stood_still_s := now_s - self._checked_s - CHECK_INTERVAL_S) > CHECK_INTERVAL_S:
            self._deadlines.excuse(stood_still_s)
        for awaited, waited_s, given_up in self._deadlines.overdue(now_s):
            reason = f"no {awaited.what} within {waited_s:.1f} s"
            self._log.warning(
                "stage_timeout", stage=awaited.stage, owner=awaited.owner, reason=reason, given_up=given_up
            )
            if given_up:
                self._give_up(awaited, reason)
        if len(self._deadlines) and self._timer is None:
            self._arm(now_s)
