"""Load of the server: measured in each process that accepts calls, reported at `GET /load`, and a reason to
refuse calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import structlog

from llmcore.policies.admission import Refusal
from voiceagent.access.calls import ELSEWHERE_S, FULL_S, State
from voiceagent.access.slots import Slots, lag_refusal
from voiceagent.processes.rounds import until_multiple_s
from voiceagent.telemetry.event_loop import LoopMonitor

log = structlog.get_logger()

REPORT_S = 0.5
"""Interval at which a process reports its lag and CPU use to the others."""
_NEWEST = 0.2
"""Weight of the newest report in the mean: one second, in which all calls may be answered, says little."""


class ProcessLoad:
    """Event loop lag and load of this process, which accepts calls in `slots`. max_lag_s: with more lag, the
    process refuses calls. transcribing: returns the number of its calls that only transcribe.

    Exception: it accepts calls in spite of its lag if it shares the slots with a process without lag. The
    next calls go to that process, and the few that arrive here meanwhile are better late than refused.
    """

    def __init__(
        self, monitor: LoopMonitor, slots: Slots, max_lag_s: float, transcribing: Callable[[], int]
    ) -> None:
        self._slots = slots
        self._max_lag_s = max_lag_s
        self._transcribing = transcribing
        self._monitor = monitor
        self._busy = 0.0

    async def run(self) -> None:
        """Report until cancelled."""
        began_s, computed_s = time.monotonic(), time.process_time()
        while True:
            await asyncio.sleep(until_multiple_s(REPORT_S, time.monotonic()))
            now_s, now_computed_s = time.monotonic(), time.process_time()
            newest = (now_computed_s - computed_s) / (now_s - began_s)
            began_s, computed_s = now_s, now_computed_s
            self._busy += _NEWEST * (newest - self._busy)
            self._slots.report(self._monitor.lag_s, self._busy, self._transcribing())

    def refusal(self, calls: int) -> Refusal | None:
        """Return a refusal, and log it, if one more call while `calls` others are open would be late."""
        refusal = lag_refusal(min(self._monitor.lag_s, self._slots.lag_s), self._max_lag_s, calls)
        if refusal is not None:
            log.warning("call_refused", reason=refusal.reason)
        return refusal


def load_report(
    state: State, slots: Slots, max_lag_s: float, predicted_ttft_s: float, refusal: Refusal | None
) -> dict[str, Any]:
    """Return the body of `GET /load`. refusal: of the LLM, for a call that arrives now."""
    refusal = refusal or lag_refusal(slots.lag_s, max_lag_s, slots.taken)
    # the later reasons take precedence: a server that drains is not merely full
    if slots.taken >= slots.max_calls:
        refusal = Refusal(f"all {slots.max_calls} calls are taken", FULL_S)
    if state != "ready":
        refusal = Refusal(f"the server is {state}", ELSEWHERE_S)
    return {
        "state": state,
        "takes_calls": refusal is None,
        "reason": None if refusal is None else refusal.reason,
        "retry_after_s": None if refusal is None else refusal.retry_after_s,
        "calls": slots.taken,
        "max_calls": slots.max_calls,
        "loop_lag_ms": round(slots.lag_s * 1000, 1),
        "predicted_ttft_ms": round(predicted_ttft_s * 1000, 1),
    }
