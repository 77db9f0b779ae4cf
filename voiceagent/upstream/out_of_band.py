"""Out-of-band responses of a backend, requested by the client: text only, never spoken."""

from __future__ import annotations

from itertools import count

from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import ToolCallItem
from voiceagent.conversation.out_of_band import MAX_OUT_OF_BAND
from voiceagent.upstream import messages
from voiceagent.upstream.messages import Action, Event, Send


class OutOfBandResponses:
    """Out-of-band responses in progress.

    They do not wait for playout, are not interrupted by speech, and do not enter the history.
    """

    def __init__(self) -> None:
        self._requested: dict[str, Event] = {}  # requested and not begun, by event id, oldest first
        self._numbers = count(1)
        self._in_progress: set[str] = set()

    def __contains__(self, response_id: str | None) -> bool:
        return response_id in self._in_progress

    def ask(self, wanted: Event, connected: bool) -> list[Action]:
        """Request a response for the client, now or when the backend connects."""
        if (
            len(self._requested) >= MAX_OUT_OF_BAND
        ):  # the backend begins them in order, so the oldest is stale
            del self._requested[next(iter(self._requested))]
        event_id = f"beside_{next(self._numbers)}"
        event = self._requested[event_id] = {**wanted, "event_id": event_id}
        return [Send(event)] if connected else []

    def pending_requests(self) -> list[Action]:
        """Return the requests to repeat to a new backend connection."""
        return [Send(event) for event in self._requested.values()]

    def on_refused(self, event_id: str | None) -> bool:
        """Drop a request that the backend refused; return False if it is not one of these."""
        return event_id is not None and self._requested.pop(event_id, None) is not None

    def begin(self, begun: Event) -> list[Action]:
        """Begin the oldest requested response."""
        if self._requested:
            del self._requested[next(iter(self._requested))]
        self._in_progress.add(begun["id"])
        metadata = begun.get("metadata") or {}
        return [notify.NotifyResponseStarted(begun["id"], "text", None, False, metadata, out_of_band=True)]

    def on_event(self, kind: str, event: Event) -> list[Action]:
        response_id = messages.response_id_of(event)
        match kind:
            case "response.output_text.delta":
                return [notify.NotifyResponseText(response_id, event["item_id"], None, event["delta"])]
            case "response.output_item.done":
                item = messages.read_item(event["item"])
                if not isinstance(item, ToolCallItem):
                    return []
                return [notify.NotifyToolCall(response_id, item.item_id, None, item.call)]
            case "response.done":
                self._in_progress.discard(response_id)
                return [messages.read_end(event["response"], out_of_band=True)]
            case _:
                return []

    def lost(self, reason: str) -> list[Action]:
        """Fail all responses in progress: the backend was lost."""
        in_progress, self._in_progress = self._in_progress, set()
        return [
            notify.NotifyResponseEnded(one, "failed", reason, out_of_band=True) for one in sorted(in_progress)
        ]
