"""Notices become server events; every one is proved against the models of the `openai` package."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai_types import proved
from response_order import ResponseOrder

from audio.pcm import AudioFormat, Samples, decode
from llmcore.engine import Tool, ToolCall, Usage
from voiceagent import notices as tell
from voiceagent.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.latency import LatencyBudget, TurnLedger
from voiceagent.notices import Notice
from voiceagent.realtime.encode import Encoder
from voiceagent.settings import CallSettings, TurnDetection

FRAME = np.arange(480, dtype=np.int16)
HI = MessageItem("item_1", "user", "hi")
WEATHER = ToolCall("call_1", "weather", '{"city":"Bonn"}')


class Wire:
    """What a client gets: every event proved, and in an order that it may come in."""

    def __init__(self, settings: CallSettings | None = None) -> None:
        self.encoder = Encoder("sess_1", "conv_1")
        self.order = ResponseOrder()
        self.tell(tell.TellSettings(settings or CallSettings(), created=True))

    def tell(self, *notices: Notice) -> list[dict[str, Any]]:
        events = [proved(event) for notice in notices for event in self.encoder.encode(notice)]
        for event in events:
            self.order.take(event)
        return events

    def play(self, reply_id: str, frame: Samples = FRAME) -> dict[str, Any]:
        text = self.encoder.encode_audio(reply_id, frame)
        assert text is not None
        event = proved(json.loads(text))
        self.order.take(event)
        return event


def started(modality: Any = "audio", **fields: Any) -> tell.TellReplyStarted:
    return tell.TellReplyStarted("resp_1", modality, **fields)


def said(text: str) -> tell.TellReplyText:
    return tell.TellReplyText("resp_1", "item_9", "item_8", text)


def ended(status: Any = "completed", reason: str = "") -> tell.TellReplyEnded:
    return tell.TellReplyEnded("resp_1", status, reason, Usage(30, 20, 7))


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


# ---- a response


def test_a_spoken_reply_is_the_protocols_sequence() -> None:
    wire = Wire()
    events = wire.tell(started(), said("Hello, "))
    events.append(wire.play("resp_1"))
    events += wire.tell(said("you."))
    events.append(wire.play("resp_1"))
    events += wire.tell(ended())
    assert kinds(events) == [
        "response.created",
        "rate_limits.updated",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_audio_transcript.delta",
        "response.output_audio.delta",
        "response.output_audio_transcript.delta",
        "response.output_audio.delta",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]


def test_a_written_reply_has_text_in_place_of_sound() -> None:
    events = Wire().tell(started("text"), said("Hello."), ended())
    assert kinds(events)[4:] == [
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]
    assert events[-1]["response"]["output"][0]["content"] == [{"type": "output_text", "text": "Hello."}]


def test_a_response_shows_all_that_was_said_and_what_it_cost() -> None:
    events = Wire().tell(started(max_tokens=50, metadata={"a": "b"}), said("Hello, "), said("you."), ended())
    response = events[-1]["response"]
    assert response["id"] == "resp_1"
    assert response["status"] == "completed"
    assert response["status_details"] is None
    assert response["output"] == [
        {
            "id": "item_9",
            "object": "realtime.item",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_audio", "transcript": "Hello, you."}],
        }
    ]
    assert response["max_output_tokens"] == 50
    assert response["metadata"] == {"a": "b"}
    assert response["conversation_id"] == "conv_1"
    assert response["usage"]["total_tokens"] == 37
    assert response["usage"]["input_token_details"]["cached_tokens"] == 20
    assert response["usage"]["output_tokens"] == 7


def test_a_message_knows_the_item_before_it() -> None:
    events = Wire().tell(started(), said("Hi."), ended())
    places = [event["previous_item_id"] for event in events if event["type"].startswith("conversation.item")]
    assert places == ["item_8", "item_8"]


def test_a_reply_beside_the_conversation_adds_no_item_to_it() -> None:
    events = Wire().tell(started("text", in_conversation=False), said("Title"), ended())
    assert not [kind for kind in kinds(events) if kind.startswith("conversation.item")]
    assert events[-1]["response"]["conversation_id"] is None


def test_a_tool_call_is_complete_only_when_it_is_done() -> None:
    call = tell.TellToolCall("resp_1", "item_9", None, WEATHER)
    events = Wire().tell(started(), call, ended())
    assert kinds(events)[2:] == [
        "response.output_item.added",
        "conversation.item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]
    added, done = events[2]["item"], events[6]["item"]
    assert (added["status"], added["arguments"]) == ("in_progress", "")
    assert (done["status"], done["arguments"], done["call_id"]) == ("completed", WEATHER.arguments, "call_1")
    assert events[5]["name"] == "weather"


def test_a_tool_can_run_while_the_reply_is_still_spoken() -> None:
    wire = Wire()
    events = wire.tell(started(), said("Let me see."), tell.TellToolCall("resp_1", "item_10", None, WEATHER))
    assert kinds(events)[-2] == "response.output_item.done"
    assert events[-2]["output_index"] == 1
    wire.play("resp_1")
    events = wire.tell(ended())
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["message", "function_call"]


def test_words_after_a_tool_call_are_an_item_of_their_own() -> None:
    wire = Wire()
    wire.tell(started(), tell.TellToolCall("resp_1", "item_10", None, WEATHER), said("Looking."))
    assert wire.play("resp_1")["output_index"] == 1


def test_a_cancelled_reply_is_closed_in_order_and_says_why() -> None:
    wire = Wire()
    wire.tell(started(), said("Hello, you."))
    wire.play("resp_1")
    events = wire.tell(tell.TellItemTruncated("item_9", 0.02), ended("cancelled", "turn_detected"))
    assert events[0]["audio_end_ms"] == 20
    response = events[-1]["response"]
    assert response["status"] == "cancelled"
    assert response["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert response["output"][0]["status"] == "incomplete"


def test_a_reason_that_the_protocol_does_not_have_is_left_out() -> None:
    response = Wire().tell(started(), ended("cancelled", "the moon"))[-1]["response"]
    assert response["status_details"] == {"type": "cancelled"}


def test_a_reply_cut_by_its_token_limit_is_incomplete() -> None:
    response = Wire().tell(started(), said("Hello"), ended("incomplete", "max_output_tokens"))[-1]["response"]
    assert response["status_details"] == {"type": "incomplete", "reason": "max_output_tokens"}


def test_a_failed_reply_tells_the_reason() -> None:
    response = Wire().tell(started(), said("Sorry."), ended("failed", "llm: out of memory"))[-1]["response"]
    error = {"type": "server_error", "message": "llm: out of memory"}
    assert response["status_details"] == {"type": "failed", "error": error}


def test_a_reply_of_nothing_is_a_response_of_no_items() -> None:
    assert Wire().tell(started(), ended())[-1]["response"]["output"] == []


def test_what_comes_late_from_a_reply_is_nothing() -> None:
    wire = Wire()
    wire.tell(started(), said("Hi."), ended())
    assert wire.tell(said("more")) == []
    assert wire.tell(ended()) == []
    assert wire.encoder.encode_audio("resp_1", FRAME) is None


def test_sound_has_no_place_before_the_words_it_belongs_to() -> None:
    wire = Wire()
    wire.tell(started())
    assert wire.encoder.encode_audio("resp_1", FRAME) is None


# ---- sound


@pytest.mark.parametrize("audio_format", list(AudioFormat))
def test_sound_goes_out_in_the_format_of_the_call(audio_format: AudioFormat) -> None:
    wire = Wire(CallSettings(output_format=audio_format))
    wire.tell(started(), said("Hi."))
    sound = decode(base64.b64decode(wire.play("resp_1")["delta"]), audio_format)
    np.testing.assert_allclose(sound, FRAME, rtol=0.05, atol=8)


def test_each_reply_has_its_own_place_for_sound() -> None:
    wire = Wire()
    wire.tell(started(), said("Hi."))
    first = wire.play("resp_1")
    wire.tell(ended(), tell.TellReplyStarted("resp_2", "audio"))
    wire.tell(tell.TellReplyText("resp_2", "item_20", "item_9", "Again."))
    second = wire.play("resp_2")
    assert (first["response_id"], first["item_id"]) == ("resp_1", "item_9")
    assert (second["response_id"], second["item_id"]) == ("resp_2", "item_20")


# ---- the caller


def test_the_caller_speaks_and_is_understood() -> None:
    events = Wire(CallSettings(turn_detection=TurnDetection(prefix_padding_s=0.3, silence_s=0.2))).tell(
        tell.TellSpeechStarted("item_1", 1.5),
        tell.TellTranscript("item_1", "what is ", final=False),
        tell.TellSpeechStopped("item_1", 2.5),
        tell.TellInputCommitted("item_1", None),
        tell.TellItemAdded(MessageItem("item_1", "user", "what is", spoken=True), None),
        tell.TellItemDone(MessageItem("item_1", "user", "what is", spoken=True), None),
        tell.TellTranscript("item_1", "what is it", final=True, seconds=1.0),
    )
    assert kinds(events) == [
        "input_audio_buffer.speech_started",
        "conversation.item.input_audio_transcription.delta",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.completed",
    ]
    assert events[0]["audio_start_ms"] == 1200, "the padding counts in"
    assert events[2]["audio_end_ms"] == 2700, "the silence counts in"
    assert events[-1]["transcript"] == "what is it"
    assert events[-1]["usage"] == {"type": "duration", "seconds": 1.0}


def test_speech_never_begins_before_the_call() -> None:
    assert Wire().tell(tell.TellSpeechStarted("item_1", 0.1))[0]["audio_start_ms"] == 0


def test_words_of_a_turn_just_committed_may_not_be_known() -> None:
    item = Wire().tell(tell.TellItemAdded(MessageItem("item_1", "user", "", spoken=True), None))[0]["item"]
    assert item["content"] == [{"type": "input_audio", "transcript": None}]


def test_a_failed_transcription_names_its_item() -> None:
    event = Wire().tell(tell.TellTranscriptFailed("item_1", "the recognizer died"))[0]
    assert event["item_id"] == "item_1"
    assert event["error"]["message"] == "the recognizer died"
    assert None not in event["error"].values(), "a client of openai-agents takes no null here"


def test_the_silence_of_an_idle_caller_ends_where_it_was_noticed() -> None:
    settings = CallSettings(turn_detection=TurnDetection(idle_timeout_s=6.0))
    event = Wire(settings).tell(tell.TellIdle("item_1", 10.0))[0]
    assert (event["audio_start_ms"], event["audio_end_ms"]) == (4000, 10_000)


def test_a_cleared_buffer_is_told() -> None:
    assert kinds(Wire().tell(tell.TellInputCleared())) == ["input_audio_buffer.cleared"]


# ---- items, settings, errors


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        (HI, {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
        (
            MessageItem("item_1", "system", "Be kind."),
            {"role": "system", "content": [{"type": "input_text", "text": "Be kind."}]},
        ),
        (
            MessageItem("item_1", "assistant", "Hello."),
            {"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
        ),
        (
            MessageItem("item_1", "assistant", "Hel", spoken=True, status="incomplete"),
            {"content": [{"type": "output_audio", "transcript": "Hel"}], "status": "incomplete"},
        ),
        (ToolCallItem("item_1", WEATHER), {"type": "function_call", "arguments": WEATHER.arguments}),
        (ToolOutputItem("item_1", "call_1", "sunny"), {"type": "function_call_output", "output": "sunny"}),
    ],
)
def test_an_item_is_shown_as_what_it_is(item: Item, shown: dict[str, Any]) -> None:
    events = Wire().tell(
        tell.TellItemAdded(item, None), tell.TellItemDone(item, None), tell.TellItemRetrieved(item)
    )
    assert kinds(events) == [
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.retrieved",
    ]
    for event in events:
        assert event["item"].items() >= shown.items()
        assert event["item"]["id"] == "item_1"


def test_a_deleted_item_is_told() -> None:
    assert Wire().tell(tell.TellItemDeleted("item_1"))[0]["item_id"] == "item_1"


def test_settings_are_told_in_full() -> None:
    settings = CallSettings(
        model="some-model",
        instructions="Be kind.",
        tools=(Tool("weather", "Sky.", {"type": "object"}),),
        tool_choice="weather",
        turn_detection=TurnDetection(interrupt_response=True),
    )
    event = Wire().tell(tell.TellSettings(settings))[0]
    assert event["type"] == "session.updated"
    session = event["session"]
    assert session["id"] == "sess_1"
    assert session["model"] == "some-model"
    assert session["instructions"] == "Be kind."
    assert session["tool_choice"] == {"type": "function", "name": "weather"}
    assert session["audio"]["input"]["turn_detection"]["interrupt_response"] is True
    assert session["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24_000}


def test_an_error_names_the_event_that_caused_it() -> None:
    event = Wire().tell(tell.TellError("invalid_value", "x is 3; allowed: 4", "x", "event_of_mine"))[0]
    assert event["error"] == {
        "type": "invalid_request_error",
        "code": "invalid_value",
        "message": "x is 3; allowed: 4",
        "param": "x",
        "event_id": "event_of_mine",
    }


def test_a_turns_latency_is_an_event_of_our_own() -> None:
    ledger = TurnLedger("item_1")
    for name, at_s in (("speech_end", 1.0), ("turn_decided", 1.2), ("transcript_final", 1.25)):
        ledger.stamp(name, at_s)  # type: ignore[arg-type]  # a literal in a tuple is a str to mypy
    report = ledger.report(LatencyBudget({"endpointing": 0.1}, 1.0), "completed")
    event = Encoder("sess_1", "conv_1").encode_report(report)
    assert event["type"] == "voiceagent.latency"
    assert event["turn_id"] == "item_1"
    assert event["total_ms"] == 250
    assert event["stages"][0] == {"name": "endpointing", "ms": 200, "budget_ms": 100}
    assert event["over_budget"] == ["endpointing"]


# ---- any reply

_ACTIONS = st.lists(st.sampled_from(["text", "sound", "tool"]), max_size=8)
_REPLIES = st.lists(
    st.tuples(
        st.sampled_from(["audio", "text"]),
        st.booleans(),
        _ACTIONS,
        st.sampled_from(["completed", "cancelled", "failed", "incomplete"]),
    ),
    max_size=4,
)


@given(_REPLIES, st.text())
def test_any_reply_is_a_lawful_sequence_of_proved_events(
    replies: list[tuple[Any, bool, list[str], Any]], text: str
) -> None:
    wire = Wire()
    for number, (modality, in_conversation, actions, status) in enumerate(replies):
        reply_id = f"resp_{number}"
        wire.tell(tell.TellReplyStarted(reply_id, modality, None, in_conversation))
        for index, action in enumerate(actions):
            match action:
                case "text":
                    wire.tell(tell.TellReplyText(reply_id, f"item_{number}", None, text))
                case "tool":
                    call = ToolCall(f"call_{number}_{index}", "weather", text)
                    wire.tell(tell.TellToolCall(reply_id, f"item_{number}_{index}", None, call))
                case "sound" if modality == "audio" and "text" in actions[:index]:
                    wire.play(reply_id)
        wire.tell(tell.TellReplyEnded(reply_id, status, "turn_detected"))
        assert wire.order.done[reply_id]["status"] == status
    assert not wire.order.open
