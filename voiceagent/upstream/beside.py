"""Out-of-band responses of a backend, requested by the client: text only, never spoken."""

from __future__ import annotations

from itertools import count

from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import ToolCallItem
from voiceagent.conversation.out_of_band import MAX_OUT_OF_BAND
from voiceagent.upstream import messages
from voiceagent.upstream.messages import Event, Send, Wanted


class BesideResponses:
    """Out-of-band responses in progress.

    They do not wait for playout, are not interrupted by speech, and do not enter the history.
    """

    def __init__(self) -> None:
        self._asked: dict[str, Event] = {}  # requested and not begun, by event id, oldest first
        self._numbers = count(1)
        self._made: set[str] = set()

    def __contains__(self, response_id: str | None) -> bool:
        return response_id in self._made

    def ask(self, wanted: Event, connected: bool) -> list[Wanted]:
        """Request a response for the client, now or when the backend connects."""
        if len(self._asked) >= MAX_OUT_OF_BAND:  # the backend begins them in order, so the oldest is stale
            del self._asked[next(iter(self._asked))]
        event_id = f"beside_{next(self._numbers)}"
        event = self._asked[event_id] = {**wanted, "event_id": event_id}
        return [Send(event)] if connected else []

    def asked_again(self) -> list[Wanted]:
        """Return the requests to repeat to a new backend connection."""
        return [Send(event) for event in self._asked.values()]

    def refused(self, event_id: str | None) -> bool:
        """Drop a request that the backend refused; return False if it is not one of these."""
        return event_id is not None and self._asked.pop(event_id, None) is not None

    def begin(self, begun: Event) -> list[Wanted]:
        """Begin the oldest requested response."""
        if self._asked:
            del self._asked[next(iter(self._asked))]
        self._made.add(begun["id"])
        metadata = begun.get("metadata") or {}
        return [notify.NotifyResponseStarted(begun["id"], "text", None, False, metadata, beside=True)]

    def take(self, kind: str, event: Event) -> list[Wanted]:
        """Process an event of one of these responses."""
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
                self._made.discard(response_id)
                return [messages.read_end(event["response"], beside=True)]
            case _:
                return []

    def lost(self, reason: str) -> list[Wanted]:
        """Fail all responses in progress: the backend was lost."""
        made, self._made = self._made, set()
        return [notify.NotifyResponseEnded(one, "failed", reason, beside=True) for one in sorted(made)]
