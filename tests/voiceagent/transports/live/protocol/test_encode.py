"""Events of a Live session; all conform to the `openai` package."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from live_types import SERVER_EVENT, proved, types_of
from openai.types.live import ServerEvent

from llmcore.engine import ToolCall, Usage
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.transports.live.protocol.delegations import Delegations
from voiceagent.transports.live.protocol.encode import Encoder
from voiceagent.transports.realtime.protocol.errors import RequestError

CALL = ToolCall("call_1", "weather", '{"city":"Bonn"}')
SENT = {
    "session.started",
    "session.updated",
    "session.closed",
    "session.paused",
    "session.resumed",
    "session.usage.updated",
    "session.input_audio.muted",
    "session.input_audio.unmuted",
    "session.instructions.appended",
    "session.thinking.appended",
    "session.commentary.appended",
    "session.output_audio.delta",
    "session.input_transcript.delta",
    "session.output_transcript.delta",
    "session.delegation.created",
    "response.event",
    "error",
    "info",
}
NEVER_SENT = {
    "session.input_audio.append",  # reflected audio
    "session.output_audio.fixture.playing",
    "session.output_audio.fixture.played",
    "decision.event",
    "decision.item.created",
    "decision.item.deleted",
    "transport.dtmf.received",
    "transport.dtmf.send",
    "transport.dtmf.sent",
    "transport.ringing",
    "transport.answered",
    "transport.failed",
}


class Session:
    """An encoder and the events it made, each proved."""

    def __init__(self, target: Any = "responses", items: tuple[Item, ...] = ()) -> None:
        numbers = count(1)
        self.delegations = Delegations(target, "gpt-5", lambda prefix: f"{prefix}_{next(numbers)}")
        self.encoder = Encoder(self.delegations, lambda: items, 1_000_000.0)
        self.events: list[dict[str, Any]] = []

    def feed(self, *notifications: notify.Notification, now_ms: int = 0) -> list[dict[str, Any]]:
        """Return the events of notifications."""
        made = [
            proved(event)
            for notification in notifications
            for event in self.encoder.encode(notification, now_ms, 0.0)
        ]
        self.events += made
        return made

    def backend(self, begin: int = 0) -> list[str]:
        """Return the types of the backend's events, and check their numbers."""
        inner = [event["event"] for event in self.events[begin:] if event["type"] == "response.event"]
        return [event["type"].removeprefix("response.") for event in inner]


def test_every_event_type_of_the_package_is_in_one_list() -> None:
    assert types_of(ServerEvent) <= SENT | NEVER_SENT
    assert not SENT & NEVER_SENT
    assert SERVER_EVENT


def test_function_call_is_a_delegation_with_the_backends_events() -> None:
    session = Session()
    created = session.feed(
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyToolCall("resp_1", "item_1", None, CALL),
        notify.NotifyResponseEnded("resp_1", "completed", usage=Usage(10, 4, 3)),
        now_ms=1200,
    )[0]
    assert created["type"] == "session.delegation.created"
    about = created["delegation"]
    assert (about["target"], about["response_id"], created["offset_ms"]) == ("responses", "resp_1", 1200)
    assert session.backend() == [
        *("created", "in_progress", "output_item.added", "function_call_arguments.delta"),
        *("function_call_arguments.done", "output_item.done", "completed"),
    ]
    inner = [event["event"] for event in session.events[1:]]
    assert [event["sequence_number"] for event in inner] == list(range(7))
    assert {event["delegation_id"] for event in session.events[1:]} == {about["id"]}
    assert inner[-1]["response"]["usage"]["input_tokens_details"]["cached_tokens"] == 4


def test_continuation_belongs_to_the_delegation_and_has_its_text() -> None:
    session = Session()
    session.feed(
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyToolCall("resp_1", "item_1", None, CALL),
        notify.NotifyResponseEnded("resp_1", "completed"),
    )
    delegation_id = session.events[0]["delegation"]["id"]
    session.delegations.on_output("call_1")
    assert session.delegations.request_continuation()
    begin = len(session.events)
    session.feed(
        notify.NotifyResponseStarted("resp_2", "audio"),
        notify.NotifyResponseText("resp_2", "item_2", None, "It rains. "),
        notify.NotifyResponseText("resp_2", "item_2", None, "Take a coat."),
        notify.NotifyResponseEnded("resp_2", "completed"),
    )
    assert session.backend(begin) == [
        *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    backend = [event for event in session.events[begin:] if event["type"] == "response.event"]
    assert {event["delegation_id"] for event in backend} == {delegation_id}
    assert backend[-4]["event"]["text"] == "It rains. Take a coat."


def test_continuation_may_call_again_in_the_same_delegation() -> None:
    session = Session()
    for number in (1, 2):
        session.feed(
            notify.NotifyResponseStarted(f"resp_{number}", "audio"),
            notify.NotifyToolCall(
                f"resp_{number}", f"item_{number}", None, ToolCall(f"call_{number}", "weather", "{}")
            ),
            notify.NotifyResponseEnded(f"resp_{number}", "completed"),
        )
        session.delegations.on_output(f"call_{number}")
        session.delegations.request_continuation()
    kinds = [event["type"] for event in session.events]
    assert kinds.count("session.delegation.created") == 1


def test_interrupted_response_with_calls_is_complete_for_the_backend() -> None:
    session = Session()
    session.feed(
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyToolCall("resp_1", "item_1", None, CALL),
        notify.NotifyResponseEnded("resp_1", "cancelled", "turn_detected"),
    )
    assert session.backend()[-1] == "completed"


def test_failed_response_has_no_details_of_other_servers() -> None:
    session = Session()
    session.feed(
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyToolCall("resp_1", "item_1", None, CALL),
        notify.NotifyResponseEnded("resp_1", "failed", "llm: http://10.0.0.1 refused"),
    )
    failed = session.events[-1]["event"]
    assert (failed["type"], failed["response"]["error"]["code"]) == ("response.failed", "server_error")
    assert "10.0.0.1" not in str(failed)


def test_what_the_frontend_says_is_no_event_of_the_backend() -> None:
    session = Session()
    session.feed(
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyResponseText("resp_1", "item_1", None, "Hello."),
        notify.NotifyResponseEnded("resp_1", "completed"),
    )
    assert [event["type"] for event in session.events] == ["session.output_transcript.delta"]


def test_call_of_the_delegating_tool_is_a_client_delegation_alone() -> None:
    session = Session("client")
    session.feed(
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyToolCall("resp_1", "item_1", None, ToolCall("call_1", "delegate", "{}")),
        notify.NotifyResponseEnded("resp_1", "completed"),
        now_ms=700,
    )
    (created,) = session.events
    about = {"id": "delegation_1", "type": "delegation", "target": "client"}
    assert (created["delegation"], created["offset_ms"]) == (about, 700)
    session.delegations.check_id("delegation_1")
    assert session.delegations.call_of("delegation_1") == "call_1"
    session.delegations.on_output("call_1")
    assert session.delegations.call_of("delegation_1") is None, "later commentary goes on with it"


def test_unknown_delegation_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        Session("client").delegations.check_id("delegation_9")
    assert caught.value.param == "delegation_id"


def test_context_names_no_delegation_of_the_backend() -> None:
    delegations = Session().delegations
    delegations.check_id(None)
    with pytest.raises(RequestError) as caught:
        delegations.check_id("delegation_1")
    assert caught.value.param == "delegation_id"


def test_response_is_refused_while_outputs_are_missing() -> None:
    session = Session()
    session.feed(
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyToolCall("resp_1", "item_1", None, CALL),
    )
    with pytest.raises(RequestError) as caught:
        session.delegations.request_continuation()
    assert caught.value.code == "function_call_outputs_required"
    assert "call_1" in caught.value.message


def test_output_of_an_unknown_call_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        Session().delegations.check_waits("call_9")
    assert caught.value.param == "item.call_id"


def test_backend_events_require_the_backend() -> None:
    for request in (
        Session("client").delegations.request_continuation,
        Session("client").delegations.check_backend,
    ):
        with pytest.raises(RequestError):
            request()


def test_cut_response_has_the_transcript_that_was_played() -> None:
    session = Session(items=(MessageItem("item_1", "assistant", "One two", True, "incomplete"),))
    session.feed(
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyResponseText("resp_1", "item_1", None, "One two three."),
        notify.NotifyResponseEnded("resp_1", "cancelled", "turn_detected"),
    )
    assert [event["delta"] for event in session.events] == ["One two"]


def test_speech_is_dated_by_its_audio() -> None:
    session = Session()
    session.encoder.encode(notify.NotifySpeechStarted("item_1", 1.5), 2300, received_s=2.0)
    (delta,) = session.feed(notify.NotifyTranscript("item_1", "go", True), now_ms=2600)
    assert (delta["start_ms"], delta["end_ms"]) == (1800, 2600)


def test_error_names_the_clients_event() -> None:
    (error,) = Session().feed(notify.NotifyError("limit_exceeded", "too long", "item", "e1"))
    assert error["error"]["client_event_id"] == error["client_event_id"] == "e1"
    assert error["error"]["param"] == "item"
