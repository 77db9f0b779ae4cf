"""`[supervision]`: how the processes of a server are supervised."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from llmcore.policies.circuit_breaker import Backoff
from voiceagent.processes.policies.liveness import Supervision
from voiceagent.validation.section import Duration, Section


class SupervisionConfig(Section):
    """`[supervision]`: when an engine's process or a worker counts as hung, and how it is started again."""

    heartbeat_s: Duration = 0.5
    """Each process is asked so often whether it is there."""
    late_s: Duration = 1.0
    """One that has not answered for so long gets no new calls and no new requests while another is there."""
    engine_hang_s: Duration = 5.0
    """An engine's process that has not answered for so long is killed and started again: more than one piece
    of its work may take."""
    worker_hang_s: Duration = 10.0
    """The same for a worker of `--workers`, whose calls end with it."""
    start_s: Duration = 120.0
    """How long a process that is started again may take; the first start may take any time."""
    restart_s: Duration = 0.5
    """How long is waited, at most, before the second restart in a row; the first is at once."""
    max_restart_s: Duration = 30.0
    """The wait doubles with each restart, up to that; it is never given up."""

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
