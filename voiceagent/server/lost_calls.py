"""What the supervisor knows of the calls of its workers, and says for those that end with one.

A worker that is killed says nothing any more: the log, the trace and the kept log of each of its calls are
ended here, and it is told where `[webhooks]` told that the call began, with the words of its kept log.
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
from voiceagent.server.followed_call import CallOver, CallProgress
from voiceagent.telemetry.otlp.trace.spans import CALL, Span
from voiceagent.webhooks.message import BEGAN, WebhookEvent
from voiceagent.webhooks.sender import WebhookSender

LOST = "worker_died"
"""The kind of error that the spans of such a call have."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Began:
    """What was told of a call's beginning, and when: monotonic seconds, as the clock may be set meanwhile."""

    event: WebhookEvent
    at_s: float


class LostCalls:
    """Calls by worker. kept: the folder in which calls are kept, None where none are. send: takes spans that
    have ended. webhooks: posts the workers' events, None where nobody is told.
    """

    def __init__(
        self,
        kept: Path | None,
        send: Callable[[Sequence[Span]], None],
        webhooks: WebhookSender | None = None,
    ) -> None:
        self._kept = kept
        self._send = send
        self._webhooks = webhooks
        self._began: dict[int, dict[str, _Began]] = {}
        self._calls: dict[int, dict[str, CallProgress]] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def told(self, worker: int, told: Any) -> None:
        """A worker tells of a call, of spans that have ended, or what is to be posted."""
        calls = self._calls.setdefault(worker, {})
        match told:
            case CallProgress(call_id=call_id):
                calls[call_id] = told
            case CallOver(call_id):
                calls.pop(call_id, None)
            case WebhookEvent():
                self._post(worker, told)
            case _:
                self._send(told)

    def _post(self, worker: int, event: WebhookEvent) -> None:
        began, call_id = self._began.setdefault(worker, {}), event.data["call_id"]
        if event.kind == BEGAN:
            began[call_id] = _Began(event, time.monotonic())
        else:
            began.pop(call_id, None)
        if self._webhooks is not None:
            self._webhooks.send(event)

    def lost(self, worker: int, reason: str) -> dict[str, Any]:
        """A worker has died, and its calls with it, of which all is told. Gives what else is logged."""
        calls = list(self._calls.pop(worker, {}).values())
        why, at_s = f"worker {worker} was lost: {reason}", time.monotonic()
        for call in calls:
            log.error(
                "call_lost",
                call=call.call_id,
                reason=why,
                turn=call.turn,
                turn_id=call.turn_id,
                doing=call.doing,
            )
            self._send([ended_by_loss(span, time.time_ns(), why, call.doing) for span in call.spans])
        told = self._began.pop(worker, {})
        if self._kept is None:
            for began in told.values():
                self._tell(began, why, at_s)
        else:
            call_ids = dict.fromkeys([*(call.call_id for call in calls), *told])
            ending = self._end_logs(self._kept, call_ids, told, why, at_s)
            writing = asyncio.create_task(ending, name="logs of lost calls")
            self._writing.add(writing)
            writing.add_done_callback(self._writing.discard)
        return {"calls": len(calls)}

    async def close(self) -> None:
        """Returns when the logs of all that was lost are ended, and their ends told."""
        await asyncio.gather(*self._writing)

    async def _end_logs(
        self, folder: Path, call_ids: Iterable[str], told: Mapping[str, _Began], why: str, at_s: float
    ) -> None:
        from voiceagent.calls.lost import end_lost_log  # noqa: PLC0415  it brings the extra `calls`

        for call_id in call_ids:
            items: list[Item] = []
            try:
                data = await asyncio.to_thread(end_lost_log, folder, call_id, why, at_s)
                if data and call_id in told:
                    items = await asyncio.to_thread(_said_in, data)
            except Exception as error:  # of a disk or of ours: it must not keep an end from being told
                log.error("call_log_not_ended", call=call_id, error=f"{type(error).__name__}: {error}")
            if call_id in told:
                self._tell(told[call_id], why, at_s, items)

    def _tell(self, began: _Began, why: str, at_s: float, items: Sequence[Item] = ()) -> None:
        if self._webhooks is not None:
            self._webhooks.lost(began.event, why, at_s - began.at_s, items)


def _said_in(data: bytes) -> list[Item]:
    """What was said in a call, by its log; nothing where that holds no words, or not all that happened."""
    from voiceagent.calls.librarian import Breath  # noqa: PLC0415  it brings the extra `calls`
    from voiceagent.calls.log.event_log import read_log  # noqa: PLC0415
    from voiceagent.calls.replaying.replay import CannotReplay  # noqa: PLC0415
    from voiceagent.upstream.replaying import transcript_of  # noqa: PLC0415

    breath = Breath()
    try:
        return transcript_of(read_log(data, breathe=breath), breath)
    except CannotReplay as error:
        log.info("call_log_without_words", reason=str(error))
        return []


def ended_by_loss(span: Span, end_ns: int, reason: str, doing: str) -> Span:
    """A span that nobody ended: it lasts until its worker was lost. The call's own says why."""
    told = {"voiceagent.call.end": reason, "voiceagent.call.doing": doing} if span.name == CALL else {}
    return replace(
        span, end_ns=max(span.start_ns, end_ns), error=LOST, attributes={**span.attributes, **told}
    )
