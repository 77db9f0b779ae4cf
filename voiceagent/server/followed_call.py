"""Progress of a call, pushed by a worker to its supervisor at each change, as the worker may be killed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.events import Event
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.session.keeping import KeepsNothing
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
    traced; `tell` passes progress to a supervisor, None if there is none; `hand_over` passes the events for
    `[webhooks]` to a supervisor, see `WebhookSender`.
    """

    spans: Callable[[Sequence[Span]], None] | None = None
    tell: Callable[[CallProgress | CallOver], None] | None = None
    hand_over: Callable[[WebhookEvent], bool] = lambda event: False


class CallOver(NamedTuple):
    """A call has ended, and all its reports are sent."""

    call_id: str


def progressed(before: CallProgress, event: Event, commands: Sequence[Command]) -> CallProgress:
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
        case notify.NotifyResponseStarted(beside=False):
            return now._replace(doing="the answer is made")
        case do.Play():
            return now._replace(doing=SPEAKS)
        case do.RunTool(call=call):
            return now._replace(doing=f"the tool {call.name} runs")
        case _:
            return now


class FollowedCall(KeepsNothing):
    """A `Keeping` that reports each change of a call to the supervisor. tell: must not block. traced: its
    trace, which must handle each event first.
    """

    def __init__(
        self, call_id: str, tell: Callable[[CallProgress | CallOver], None], traced: TracedCall | None
    ) -> None:
        self._progress = CallProgress(call_id)
        self._tell = tell
        self._traced = traced
        self._placed = False
        tell(self._progress)

    def took(
        self,
        event: Event,
        received_s: float,
        ids: Sequence[str],
        commands: Sequence[Command],
        fault: Exception | None = None,
    ) -> None:
        self._stands(progressed(self._progress, event, commands))

    def speaks(self) -> None:
        self._stands(self._progress._replace(doing=SPEAKS))

    def ended(self, reason: str, history: Sequence[Item]) -> None:
        self._tell(CallOver(self._progress.call_id))

    def _stands(self, now: CallProgress) -> None:
        if not self._placed or now != self._progress:  # the call joins its trace only after the first report
            self._progress, self._placed = now, True
            self._tell(now._replace(spans=() if self._traced is None else self._traced.unfinished()))
