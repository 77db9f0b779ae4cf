"""Refusals of calls by a late process."""

from __future__ import annotations

import tempfile

from prometheus_client import CollectorRegistry

from voiceagent.access.slots import SharedSlots
from voiceagent.server.load import ProcessLoad
from voiceagent.telemetry.event_loop import RECENT, LoopMonitor

MAX_LAG_S = 0.1


def monitor(lag_s: float) -> LoopMonitor:
    """Of a loop that is always so late."""
    found = LoopMonitor(CollectorRegistry())
    for beat in range(RECENT):
        found.observe(beat, lag_s)
    return found


def test_a_late_process_refuses_what_none_can_take_in_time() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(SharedSlots.size(10, 2))
        first, second = (SharedSlots(file.fileno(), 10, 2, number) for number in (0, 1))
        load = ProcessLoad(monitor(0.25), first, MAX_LAG_S, lambda: 0)
        first.report(0.25, 0.0, 0)
        second.report(0.125, 0.0, 0)
        refusal = load.refusal(calls=3)
        assert refusal is not None and "125 ms late" in refusal.reason


def test_a_late_process_takes_a_call_while_another_is_in_time() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(SharedSlots.size(10, 2))
        first, second = (SharedSlots(file.fileno(), 10, 2, number) for number in (0, 1))
        load = ProcessLoad(monitor(0.25), first, MAX_LAG_S, lambda: 0)
        first.report(0.25, 0.0, 0)
        second.report(0.01, 0.0, 0)
        assert load.refusal(calls=3) is None


def test_a_process_in_time_takes_calls_before_it_has_told_so() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(SharedSlots.size(10, 2))
        first, second = (SharedSlots(file.fileno(), 10, 2, number) for number in (0, 1))
        first.report(0.25, 0.0, 0)
        assert ProcessLoad(monitor(0.01), second, MAX_LAG_S, lambda: 0).refusal(calls=3) is None
