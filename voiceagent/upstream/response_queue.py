"""Requests for responses of the backend: a queue of one at a time, and out-of-band ones, never spoken."""

from __future__ import annotations

from collections import deque
from itertools import count

from voiceagent.conversation import commands as do
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import ToolCallItem
from voiceagent.conversation.out_of_band import MAX_OUT_OF_BAND
from voiceagent.upstream import messages
from voiceagent.upstream.messages import Action, Event, Send


class ResponseQueue:
    """Requests for responses that the backend has not begun."""

    def __init__(self) -> None:
        self._speech: deque[Event] = deque()
        self._client_request: Event | None = None  # the client's `response.create`
        self._answer_due = False  # an answer to the caller is due and was not requested
        self._hang_up_reason = ""
        self._requested: Event | None = None  # requested and not begun
        self._last_speech: Event | None = None  # the last prescribed speech that was requested
        self._numbers = count(1)

    @property
    def is_awaiting_start(self) -> bool:
        """True if a response was requested and has not begun."""
        return self._requested is not None

    def enqueue_speech(self, event: Event) -> None:
        """Queue speech that the agent's code prescribes."""
        self._speech.append(event)

    def enqueue_client_request(self, event: Event) -> bool:
        """Queue a client's `response.create` until the backend connects. Return False if one is queued."""
        if self._client_request is not None:
            return False
        self._client_request = event
        return True

    def request_answer(self) -> None:
        """Mark that the model must answer the last turn."""
        self._answer_due = True

    def hang_up_after(self, reason: str) -> None:
        """Hang up after the queued speech."""
        self._hang_up_reason = reason

    def ask(self, event: Event) -> list[Action]:
        """Request a response now."""
        self._requested = {"event_id": f"response_{next(self._numbers)}", **event}
        return [Send(self._requested)]

    def on_started(self) -> None:
        """Clear the due answer and the request: the response that began is the answer, whatever caused it."""
        self._answer_due, self._requested = False, None

    def on_refused(self, event_id: str | None, busy: bool) -> bool:
        """Handle an error for a request; return True if that request was queued again.

        event_id: of the request, if the backend names it. busy: the backend was already answering the caller
        when the request arrived.
        """
        speech, requested = self._last_speech, self._requested
        if requested is not None and event_id in (None, requested["event_id"]):
            self._requested = None
        if speech is None or not busy or event_id != speech["event_id"]:
            return False
        self._last_speech = None
        self._speech.appendleft(speech)
        return True

    def lost(self, was_silent: bool) -> None:
        """Queue requests again after the backend was lost. was_silent: a response had begun without audio."""
        self._answer_due = self._answer_due or was_silent
        if self._requested is not None:
            self._speech.appendleft(self._requested)
            self._requested = None

    def give_up(self, reason: str) -> None:
        """Clear the queue and hang up: no backend is available any more."""
        self._speech.clear()
        self._answer_due, self._client_request, self._hang_up_reason = False, None, reason

    def next(self, connected: bool, tools_running: bool) -> list[Action]:
        """Return the next request, as neither side speaks. tools_running: the answer waits for them."""
        if self._speech and connected:
            requested = self.ask(self._speech.popleft())
            self._last_speech = self._requested
            return requested
        if self._hang_up_reason and not self._speech:
            return [do.HangUp(self._hang_up_reason)]
        if self._client_request is not None and connected:
            request, self._client_request, self._answer_due = self._client_request, None, False
            return self.ask(request)
        return self.next_answer(connected, tools_running)

    def next_answer(self, connected: bool, tools_running: bool) -> list[Action]:
        """Return the request for the answer that is due, if it can be sent. tools_running: see `next`."""
        if self._answer_due and connected and not tools_running:
            self._answer_due = False
            return self.ask(messages.response_created())
        return []


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
