"""Calls of the workers, tracked in the supervisor, which ends them if their worker dies.

A killed worker reports nothing. For each of its calls the supervisor ends the log, the trace and the kept
log, and posts the end to `[webhooks]` if the beginning was posted, with the transcript of the kept log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from voiceagent.conversation.history import Item
from voiceagent.server.call_progress import CallOver, CallProgress
from voiceagent.telemetry.otlp.trace.spans import CALL, Span
from voiceagent.webhooks.message import BEGAN, WebhookEvent
from voiceagent.webhooks.sender import WebhookSender

LOST = "worker_died"
"""Error type of the spans of a lost call."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Began:
    """A posted `call.began`, and its time in monotonic seconds, as the wall clock may be set meanwhile."""

    event: WebhookEvent
    at_s: float


class LostCalls:
    """Running calls by worker. kept: the folder of kept calls, None without one. send: receives ended spans.
    webhooks: posts the workers' events, None if not configured.
    """

    def __init__(
        self, kept: Path | None, send: Callable[[Sequence[Span]], None], webhooks: WebhookSender | None = None
    ) -> None:
        self._kept = kept
        self._send = send
        self._webhooks = webhooks
        self._began: dict[int, dict[str, _Began]] = {}
        self._calls: dict[int, dict[str, CallProgress]] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def on_notification(self, worker: int, notification: Any) -> None:
        """Handle a worker's notification: progress or end of a call, an event to post, or ended spans."""
        calls = self._calls.setdefault(worker, {})
        match notification:
            case CallProgress(call_id=call_id):
                calls[call_id] = notification
            case CallOver(call_id):
                calls.pop(call_id, None)
            case WebhookEvent():
                self._post(worker, notification)
            case _:
                self._send(notification)

    def _post(self, worker: int, event: WebhookEvent) -> None:
        began, call_id = self._began.setdefault(worker, {}), event.data["call_id"]
        if event.kind == BEGAN:
            began[call_id] = _Began(event, time.monotonic())
        else:
            began.pop(call_id, None)
        if self._webhooks is not None:
            self._webhooks.send(event)

    def lost(self, worker: int, reason: str) -> dict[str, Any]:
        """End the calls of a worker that has died. Return fields for the log."""
        calls = list(self._calls.pop(worker, {}).values())
        why, at_s = f"worker {worker} was lost: {reason}", time.monotonic()
        for call in calls:
            log.error(
                "call_lost",
                call=call.call_id,
                reason=why,
                turn=call.turn_id,
                turn_number=call.turn,
                doing=call.doing,
            )
            self._send([ended_by_loss(span, time.time_ns(), why, call.doing) for span in call.spans])
        began_calls = self._began.pop(worker, {})
        if self._kept is None:
            for began in began_calls.values():
                self._post_lost(began, why, at_s)
        else:
            call_ids = dict.fromkeys([*(call.call_id for call in calls), *began_calls])
            ending = self._end_logs(self._kept, call_ids, began_calls, why, at_s)
            writing = asyncio.create_task(ending, name="logs of lost calls")
            self._writing.add(writing)
            writing.add_done_callback(self._writing.discard)
        return {"calls": len(calls)}

    async def close(self) -> None:
        """Wait until the logs of all lost calls are ended and their ends posted."""
        await asyncio.gather(*self._writing)

    async def _end_logs(
        self, folder: Path, call_ids: Iterable[str], began_calls: Mapping[str, _Began], why: str, at_s: float
    ) -> None:
        from voiceagent.calls.lost import end_lost_log  # noqa: PLC0415  it brings the extra `calls`

        for call_id in call_ids:
            items: list[Item] = []
            try:
                data = await asyncio.to_thread(end_lost_log, folder, call_id, why, at_s)
                if data and call_id in began_calls:
                    items = await asyncio.to_thread(_transcript_of, data)
            except Exception as error:  # a disk's error, or a bug, must not prevent posting the end
                log.error("call_log_not_ended", call=call_id, error=f"{type(error).__name__}: {error}")
            if call_id in began_calls:
                self._post_lost(began_calls[call_id], why, at_s, items)

    def _post_lost(self, began: _Began, why: str, at_s: float, items: Sequence[Item] = ()) -> None:
        if self._webhooks is not None:
            self._webhooks.lost(began.event, why, at_s - began.at_s, items)


def _transcript_of(data: bytes) -> list[Item]:
    """Return the transcript of a kept log; empty if it has no transcripts or is incomplete."""
    from voiceagent.calls.archiver import GilYield  # noqa: PLC0415  it brings the extra `calls`
    from voiceagent.calls.log.event_log import read_log  # noqa: PLC0415
    from voiceagent.calls.replaying.replay import CannotReplay  # noqa: PLC0415
    from voiceagent.upstream.replaying import transcript_of  # noqa: PLC0415

    yield_gil = GilYield()
    try:
        return transcript_of(read_log(data, yield_gil=yield_gil), yield_gil)
    except CannotReplay as error:
        log.info("call_log_without_words", reason=str(error))
        return []


def ended_by_loss(span: Span, end_ns: int, reason: str, doing: str) -> Span:
    """Return an open span of a lost call, ended now. The call's own span has the reason."""
    call_attributes = {}
    if span.name == CALL:
        call_attributes = {
            "voiceagent.call.end": reason,
            "voiceagent.call.end_code": "process_lost",
            "voiceagent.call.doing": doing,
        }
    return replace(
        span, end_ns=max(span.start_ns, end_ns), error=LOST, attributes={**span.attributes, **call_attributes}
    )
