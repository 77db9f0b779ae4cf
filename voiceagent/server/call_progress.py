"""Progress of a call, pushed by a worker to its supervisor at each change, as the worker may be killed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.call_events import AudioStarted, CallEnded, CallEvent, EventHandled
from voiceagent.conversation.commands import Command
from voiceagent.conversation.events import Event
from voiceagent.conversation.history import MessageItem
from voiceagent.telemetry.otlp.trace.spans import Span
from voiceagent.webhooks.message import WebhookEvent

if TYPE_CHECKING:
    from voiceagent.telemetry.otlp.traced_call import TracedCall


SPEAKS = "the agent speaks"


class CallProgress(NamedTuple):
    """Progress of a call. turn: number of the caller's turn, 0 before the first; turn_id: its item's. doing:
    for people, without personal data. spans: those of a traced call, as if it ended now.
    """

    call_id: str
    turn: int = 0
    turn_id: str = ""
    doing: str = "nobody speaks"
    spans: tuple[Span, ...] = ()


class CallReporting(NamedTuple):
    """Receivers of a process's reports about its calls: `spans` receives ended spans, None if calls are not
    traced; `report` passes progress to a supervisor, None if there is none; `hand_over` passes the events for
    `[webhooks]` to a supervisor, see `WebhookSender`.
    """

    spans: Callable[[Sequence[Span]], None] | None = None
    report: Callable[[CallProgress | CallOver], None] | None = None
    hand_over: Callable[[WebhookEvent], bool] = lambda event: False


class CallOver(NamedTuple):
    """A call has ended, and all its reports are sent."""

    call_id: str


def progress_after(before: CallProgress, event: Event, commands: Sequence[Command]) -> CallProgress:
    """Return the progress after an event and the commands it produced."""
    now = before
    match event:
        case ev.ItemCreated(item=MessageItem(role="user", item_id=item_id, by_line=False)):
            now = now._replace(turn=now.turn + 1, turn_id=item_id, doing="the answer is made")
        case ev.PlayoutPlayed() | ev.PlayoutStopped():
            now = now._replace(doing="nobody speaks")
        case ev.ToolFinished():
            now = now._replace(doing="the answer is made")
        case _:
            pass
    for command in commands:
        now = _decided(now, command)
    return now


def _decided(now: CallProgress, command: Command) -> CallProgress:
    match command:
        case notify.NotifySpeechStarted():
            return now._replace(doing="the caller speaks")
        case notify.NotifyInputCommitted(item_id=item_id):
            return now._replace(turn=now.turn + 1, turn_id=item_id, doing="the answer is made")
        case notify.NotifyResponseStarted(out_of_band=False):
            return now._replace(doing="the answer is made")
        case do.Play():
            return now._replace(doing=SPEAKS)
        case do.RunTool(call=call):
            return now._replace(doing=f"the tool {call.name} runs")
        case _:
            return now


class ProgressReporter:
    """Reports each change of a call to the supervisor: a `CallSubscriber`.

    report: queues a report without blocking. traced: the call's trace, which must be subscribed before this.
    """

    def __init__(
        self, call_id: str, report: Callable[[CallProgress | CallOver], None], traced: TracedCall | None
    ) -> None:
        self._progress = CallProgress(call_id)
        self._report = report
        self._traced = traced
        self._in_trace = False
        report(self._progress)

    def on_event(self, event: CallEvent) -> None:
        if isinstance(event, EventHandled):
            self._update(progress_after(self._progress, event.event, event.commands))
        elif isinstance(event, AudioStarted):
            self._update(self._progress._replace(doing=SPEAKS))
        elif isinstance(event, CallEnded):
            self._report(CallOver(self._progress.call_id))

    def _update(self, now: CallProgress) -> None:
        # the call joins its trace only after the first report
        if not self._in_trace or now != self._progress:
            self._progress, self._in_trace = now, True
            self._report(now._replace(spans=() if self._traced is None else self._traced.unfinished()))
