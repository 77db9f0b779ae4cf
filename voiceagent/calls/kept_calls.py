"""The calls that a process keeps: begun here, written by a thread, and what goes wrong with it told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from voiceagent.calls.config import CallsConfig
from voiceagent.calls.kept_call import KeptCall, Losses
from voiceagent.calls.librarian import Librarian
from voiceagent.calls.places import check_url
from voiceagent.calls.retention import Retention
from voiceagent.calls.store import CallStore, sqlite_url
from voiceagent.calls.writer import CallWriter
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy

GIB = 1 << 30
BEHIND_S = 5.0
"""A writer that is this far behind is in trouble: its disk hangs."""


class KeptCalls:
    """Keeps the calls of one process. folder: where. registry: of the metrics.

    Raises StoreError, PlaceError where what is configured is not there to be used at all.
    """

    def __init__(self, config: CallsConfig, folder: Path, registry: CollectorRegistry) -> None:
        losses = Losses()
        self._store = store = CallStore(config.database or sqlite_url(folder))
        if config.storage:
            check_url(config.storage)
        retention = Retention(config.keep_days, config.keep_gib * GIB)
        self._librarian = Librarian(store, folder, config.storage, retention, losses)
        self._writer = CallWriter(
            folder, config.record, config.words, losses, self._librarian.began, self._librarian.ended
        )
        registry.register(_Lost(losses))

    def start(self) -> None:
        """Write from now on."""
        self._writer.start()
        self._librarian.start()

    def keep(self, call_id: str, settings: CallSettings, policy: TurnPolicy, rate_hz: int) -> KeptCall:
        """Keep a call that begins now; the arguments are those of its conversation."""
        return self._writer.keep(call_id, settings, policy, rate_hz)

    @property
    def store(self) -> CallStore:
        """What is known of all calls."""
        return self._store

    def stalled(self, clock_s: float, lag_s: float) -> None:
        """The event loop woke `lag_s` too late: the calls that go on have it in their logs."""
        self._writer.stalled(clock_s, lag_s)

    def close(self) -> None:
        """Write what waits, and stop."""
        self._writer.close()
        self._librarian.close()

    def trouble(self) -> str:
        """What is wrong now, "" where nothing is."""
        if self._writer.behind_s > BEHIND_S:
            return f"calls are written {self._writer.behind_s:.0f} s late"
        return self._librarian.trouble or self._writer.losses.trouble()


class _Lost(Collector):
    """What could not be written, for Prometheus."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses

    def collect(self) -> Iterator[Metric]:
        losses = self._losses
        yield CounterMetricFamily(
            "voiceagent_kept_calls_failures", "Attempts to write kept calls that failed.", losses.failures
        )
        yield CounterMetricFamily(
            "voiceagent_kept_calls_lost_records", "Lines that the logs of calls lack.", losses.records
        )
        yield CounterMetricFamily(
            "voiceagent_kept_calls_lost_seconds", "Sound that recordings lack.", losses.sound_s
        )
