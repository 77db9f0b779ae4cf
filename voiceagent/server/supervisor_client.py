"""The rest of the server, as seen from a call worker: requests to the supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

from llmcore.policies.admission import Refusal
from llmcore.policies.load_shedding import LoadShedder, SheddingLevel
from voiceagent.access.access_control import CallAsked
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.processes.messages import Notification, RpcError
from voiceagent.processes.parent import Parent
from voiceagent.server.call_progress import CallOver, CallProgress
from voiceagent.server.load import ProcessLoad
from voiceagent.server.status import TriageResult
from voiceagent.telemetry.metric_table import new_counter
from voiceagent.telemetry.metrics import Metrics
from voiceagent.telemetry.otlp.trace.spans import Span
from voiceagent.transports.realtime.sidebands.messages import Relayed
from voiceagent.transports.relay import FromClient
from voiceagent.webhooks.message import WebhookEvent

ANSWER_S = 2.0
"""Timeout after which the supervisor counts as hung in the health."""
MAX_UNSENT_BYTES = 4 << 20
"""Maximum bytes buffered for a supervisor that does not read; some seconds of 500 traced calls."""


class LlmStatus(NamedTuple):
    """State of the LLM: level of load shedding, and the reason if calls are refused."""

    level: SheddingLevel
    refusal: Refusal | None


class SupervisorClient:
    """A `WholeServer` that asks the supervisor, over the worker's connection to it. Raises RpcError."""

    def __init__(self, parent: Parent, metrics: Metrics, load: ProcessLoad) -> None:
        self._load = load
        self._parent = parent
        self._connection = parent.connection
        self._metrics = metrics
        self._refusal: Refusal | None = None
        self.shedder = LoadShedder()
        self._dropped = new_counter("supervisor_notifications_dropped", metrics.registry)

    async def monitor(self) -> None:
        """Update the LLM's state while the supervisor is connected."""
        with suppress(RpcError):
            async with aclosing(self._connection.stream("llm_status")) as statuses:
                async for status in statuses:
                    self.shedder.level, self._refusal = status

    def refusal(self, calls: int, answered: int | None) -> Refusal | None:
        # this process's own lag first, which needs no request
        if late := self._load.refusal(calls):
            return late
        if self._refusal is None or not answered:
            return None
        self._metrics.llm.call_refused(self._refusal)
        return self._refusal

    async def health(self) -> dict[str, Any]:
        """See `WholeServer`. Returns an "unavailable" state if the supervisor does not answer in time."""
        try:
            async with asyncio.timeout(ANSWER_S):
                health: dict[str, Any] = await self._connection.ask("health")
        except TimeoutError:
            return {"status": "unavailable", "degraded": {"supervisor": self._parent.problem}}
        return health

    async def load(self) -> dict[str, Any]:
        load: dict[str, Any] = await self._connection.ask("load")
        return load

    async def metrics_page(self) -> bytes:
        page: bytes = await self._connection.ask("metrics_page")
        return page

    async def triage(self) -> TriageResult:
        judged: TriageResult = await self._connection.ask("triage")
        return judged

    def report_progress(self, report: CallProgress | CallOver) -> None:
        """Report the progress of a call, which the supervisor logs if this process is lost.

        The end of a call is always sent: the supervisor would take the call for a lost one.
        """
        self._notify(report, always=isinstance(report, CallOver))

    def send_spans(self, spans: Sequence[Span]) -> None:
        """Pass ended spans to the supervisor for sending."""
        self._notify(spans)

    def hand_over(self, event: WebhookEvent) -> bool:
        """Pass an event to the supervisor for posting, as it outlives this process. Return False if it is
        gone, or does not accept the event in time.
        """
        return not self._connection.gone.is_set() and self._notify(event)

    def _notify(self, value: object, always: bool = False) -> bool:
        """Queue a notification in the connection's buffer. Drop and count it, and return False, if the
        supervisor has not read `MAX_UNSENT_BYTES` of earlier ones.
        """
        if self._connection.unsent_bytes > MAX_UNSENT_BYTES and not always:
            self._dropped.inc()
            return False
        self._connection.notify(Notification(value))
        return True

    async def share_secret(self, secret: ClientSecret) -> None:
        await self._connection.ask("share_secret", secret)

    async def sideband(
        self, asked: CallAsked, messages: AsyncIterator[FromClient]
    ) -> AsyncGenerator[Relayed, None]:
        async with aclosing(self._connection.stream("sideband", asked, messages)) as values:
            async for value in values:
                yield value

    async def phone_stream(self, name: str, messages: AsyncIterator[FromClient]) -> AsyncGenerator[Any, None]:
        async with aclosing(self._connection.stream("phone_stream", name, messages)) as values:
            async for value in values:
                yield value

    async def hang_up(self, asked: CallAsked) -> bool:
        return bool(await self._connection.ask("hang_up", asked))
