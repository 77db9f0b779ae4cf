"""Recording of a process's calls: composition of writer, archiver and store, their health and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from voiceagent.calls.archiver import CallArchiver
from voiceagent.calls.config import CallsConfig
from voiceagent.calls.kept_call import KeptCall, Losses
from voiceagent.calls.places import check_url
from voiceagent.calls.retention import Retention
from voiceagent.calls.store import CallStore, sqlite_url
from voiceagent.calls.writer import CallWriter
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.telemetry.metric_table import counter_family

GIB = 1 << 30
BEHIND_S = 5.0
"""Delay from which the writer counts as unhealthy, because its disk hangs."""


class KeptCalls:
    """Records the calls of one process. folder: of the files. registry: of the metrics.

    Raises StoreError, PlaceError if the configured database or storage is unusable.
    """

    def __init__(self, config: CallsConfig, folder: Path, registry: CollectorRegistry) -> None:
        losses = Losses()
        self._store = store = CallStore(config.database or sqlite_url(folder))
        if config.storage:
            check_url(config.storage)
        retention = Retention(config.keep_days, config.keep_gib * GIB)
        self._archiver = CallArchiver(store, folder, config.storage, retention, losses)
        self._writer = CallWriter(
            folder, config.record, config.personal_data, losses, self._archiver.began, self._archiver.ended
        )
        registry.register(_Lost(losses))

    def start(self) -> None:
        self._writer.start()
        self._store.expect_upgrade()
        self._archiver.start()

    def keep(self, call_id: str, settings: CallSettings, policy: TurnPolicy, rate_hz: int) -> KeptCall:
        """Record a call that begins now; the arguments are those of its conversation."""
        return self._writer.keep(call_id, settings, policy, rate_hz)

    @property
    def store(self) -> CallStore:
        return self._store

    def stalled(self, clock_s: float, lag_s: float) -> None:
        """Record a stall of the event loop in the logs of the running calls."""
        self._writer.stalled(clock_s, lag_s)

    def close(self) -> None:
        """Write queued data, and stop."""
        self._writer.close()
        self._archiver.close()

    def problem(self) -> str:
        """Return the current problem, "" if there is none."""
        if self._writer.behind_s > BEHIND_S:
            return f"calls are written {self._writer.behind_s:.0f} s late"
        return self._archiver.problem or self._writer.losses.problem()


class _Lost(Collector):
    """Records and seconds of audio that were not written, and failed writes, as counters of Prometheus."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses

    def collect(self) -> Iterator[Metric]:
        losses = self._losses
        for name, value in (
            ("kept_calls_failures", losses.failures),
            ("kept_calls_lost_records", losses.records),
            ("kept_calls_lost_seconds", losses.sound_s),
        ):
            family = counter_family(name)
            family.add_metric((), value)
            yield family
