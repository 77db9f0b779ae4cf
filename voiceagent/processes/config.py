"""`[supervision]`: how the processes of a server are supervised."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from llmcore.policies.circuit_breaker import Backoff
from voiceagent.processes.policies.liveness import Supervision
from voiceagent.validation.section import Duration, Section


class SupervisionConfig(Section):
    """`[supervision]`: when an engine process or a call worker counts as hung, and how it is restarted."""

    heartbeat_s: Duration = 0.5
    """Interval of heartbeats."""
    late_s: Duration = 1.0
    """Time without an answer after which a process gets no new calls and requests while another is available.
    """
    engine_hang_s: Duration = 5.0
    """Time without an answer after which an engine process is killed and restarted. It must exceed one piece
    of the engine's work.
    """
    worker_hang_s: Duration = 10.0
    """Time without an answer after which a call worker is killed and restarted. Its calls end."""
    start_s: Duration = 120.0
    """Longest restart of a process. The first start has no limit."""
    restart_s: Duration = 0.5
    """Longest wait before the second restart in a row. The first restart is immediate."""
    max_restart_s: Duration = 30.0
    """Longest wait before a restart. The wait doubles with each restart in a row."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.heartbeat_s <= self.late_s <= min(self.engine_hang_s, self.worker_hang_s):
            raise PydanticCustomError(
                "order",
                "heartbeat_s is {beat}, late_s {late}, engine_hang_s {engine}, worker_hang_s {worker};"
                " allowed: none longer than the ones after it",
                {
                    "beat": self.heartbeat_s,
                    "late": self.late_s,
                    "engine": self.engine_hang_s,
                    "worker": self.worker_hang_s,
                },
            )
        return self

    def of_engines(self) -> Supervision:
        """Return the settings for the processes of engines."""
        return self._of(self.engine_hang_s)

    def of_workers(self) -> Supervision:
        """Return the settings for call workers."""
        return self._of(self.worker_hang_s)

    def _of(self, hang_s: float) -> Supervision:
        backoff = Backoff(self.restart_s, self.max_restart_s)
        return Supervision(self.heartbeat_s, self.late_s, hang_s, self.start_s, backoff)
