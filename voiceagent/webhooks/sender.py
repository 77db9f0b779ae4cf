"""Posts webhook events from a bounded queue and retries them, without blocking the producer."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2
import structlog
from prometheus_client import CollectorRegistry

from audio.hosted.server import describe_error
from llmcore.policies.circuit_breaker import Backoff
from voiceagent.conversation.call_events import CallBegan, CallEnded, CallEvent
from voiceagent.conversation.history import Item
from voiceagent.session.call import new_id
from voiceagent.telemetry.metric_table import new_counter
from voiceagent.webhooks.config import WebhooksConfig
from voiceagent.webhooks.message import BEGAN, ENDED, STATUS, WebhookEvent, as_transcript, signed_headers

log = structlog.get_logger()

AT_ONCE = 4
"""Events posted concurrently, so that one that is retried does not delay all others."""
CLOSE_S = 5.0
"""Time given to queued events at shutdown."""
BACKOFF = Backoff(base_s=1.0, max_s=60.0)


class WebhookSender:
    """Posts the events of one process, at least once and in no guaranteed order.

    clock: returns Unix seconds. hand_over: passes an event to another process that posts it; returns False if
    there is no such process.
    """

    def __init__(
        self,
        table: WebhooksConfig,
        secret: bytes,
        registry: CollectorRegistry,
        clock: Callable[[], float] = time.time,
        backoff: Backoff = BACKOFF,
        hand_over: Callable[[WebhookEvent], bool] = lambda event: False,
    ) -> None:
        self._table = table
        self._secret = secret
        self._clock = clock
        self._backoff = backoff
        self._hand_over = hand_over
        self._waiting: asyncio.Queue[WebhookEvent] = asyncio.Queue(table.max_waiting)
        self._events = new_counter("webhooks", registry)

    def call(self, call_id: str) -> WebhookSubscriber:
        return WebhookSubscriber(call_id, self.send, self._clock, time.monotonic)

    def status(self, call: Mapping[str, Any]) -> None:
        """Post the new status of an outbound call, in its form for the API."""
        data = {"call_id": call["id"], **call}
        self.send(WebhookEvent(new_id("evt"), STATUS, int(self._clock()), data))

    def send(self, event: WebhookEvent) -> None:
        """Queue an event for posting; drop and count it if `max_waiting` events are queued."""
        if self._hand_over(event):
            return
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            self._events.labels("dropped").inc()
            log.warning(
                "webhook_dropped", event_id=event.event_id, reason=f"{self._table.max_waiting} events wait"
            )

    def lost(self, began: WebhookEvent, reason: str, seconds: float, items: Sequence[Item] = ()) -> None:
        """Post that the call that began with this event was lost with its process, and why.

        seconds: duration of the call. items: the known part of its history.
        """
        data = {
            "call_id": began.data["call_id"],
            "reason": reason,
            "end_code": "process_lost",
            "seconds": round(seconds, 1),
            "parameters": began.data["parameters"],
            "transcript": as_transcript(items),
            "lost": True,
        }
        self.send(WebhookEvent(new_id("evt"), ENDED, int(self._clock()), data))

    async def run(self) -> None:
        """Post events until cancelled, then allow `CLOSE_S` for the queued ones."""
        async with httpx2.AsyncClient(timeout=self._table.timeout_s) as client:
            posting = [asyncio.create_task(self._post_all(client), name="webhooks") for _ in range(AT_ONCE)]
            try:
                await asyncio.wait(posting)
            finally:
                try:
                    async with asyncio.timeout(CLOSE_S):
                        await self._waiting.join()
                except TimeoutError:
                    log.warning("webhooks_dropped_at_exit", waiting=self._waiting.qsize())
                for task in posting:
                    task.cancel()

    async def _post_all(self, client: httpx2.AsyncClient) -> None:
        while True:
            event = await self._waiting.get()
            try:
                outcome = "delivered" if await self._delivered(client, event) else "failed"
                self._events.labels(outcome).inc()
            finally:
                self._waiting.task_done()

    async def _delivered(self, client: httpx2.AsyncClient, event: WebhookEvent) -> bool:
        body, reason = event.body(), ""
        assert self._table.url is not None
        for attempt in range(1, self._table.attempts + 1):
            headers = signed_headers(event.event_id, body, self._secret, int(self._clock()))
            try:
                answer = await client.post(self._table.url, content=body, headers=headers)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                reason = describe_error(error)
            else:
                if answer.is_success:
                    return True
                reason = f"HTTP {answer.status_code}"
            if attempt < self._table.attempts:
                await asyncio.sleep(self._backoff.wait_s(attempt, random.random))
        log.warning("webhook_failed", event_id=event.event_id, attempts=self._table.attempts, reason=reason)
        return False


class WebhookSubscriber:
    """Posts that a call began and ended: a `CallSubscriber`. send: queues an event."""

    def __init__(
        self,
        call_id: str,
        send: Callable[[WebhookEvent], None],
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._call_id = call_id
        self._send = send
        self._clock = clock
        self._monotonic = monotonic
        self._began_s: float | None = None
        self._parameters: dict[str, str] = {}

    def on_event(self, event: CallEvent) -> None:
        """See `CallSubscriber`. The end of a call that never began is not posted."""
        match event:
            case CallBegan(agent, model, parameters):
                self._began_s, self._parameters = self._monotonic(), dict(parameters)
                self._post(BEGAN, agent=agent, model=model, parameters=self._parameters)
            case CallEnded(reason, history, end_code) if self._began_s is not None:
                seconds = round(self._monotonic() - self._began_s, 1)
                parameters, transcript = self._parameters, as_transcript(history)
                self._post(
                    ENDED,
                    reason=reason,
                    end_code=end_code,
                    seconds=seconds,
                    parameters=parameters,
                    transcript=transcript,
                )

    def _post(self, kind: str, **data: Any) -> None:
        event = WebhookEvent(new_id("evt"), kind, int(self._clock()), {"call_id": self._call_id, **data})
        self._send(event)
