"""The caller's acts, items, settings and errors become events, validated against the `openai` package."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest
from call_settings import call_settings, turn_detection
from openai_types import proved
from wire import Wire, kinds

from llmcore.engine import Tool, ToolCall
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.latency import LatencyBudget, TurnCounts, TurnLedger
from voiceagent.transports.realtime.protocol.encode import Encoder

HI = MessageItem("item_1", "user", "hi")
WEATHER = ToolCall("call_1", "weather", '{"city":"Bonn"}')


# ---- the caller


def test_the_caller_speaks_and_is_understood() -> None:
    events = Wire(call_settings(turn_detection=turn_detection(prefix_padding_s=0.3, silence_s=0.2))).notify(
        notify.NotifySpeechStarted("item_1", 1.5),
        notify.NotifyTranscript("item_1", "what is ", final=False),
        notify.NotifySpeechStopped("item_1", 2.5),
        notify.NotifyInputCommitted("item_1", None),
        notify.NotifyItemAdded(MessageItem("item_1", "user", "what is", spoken=True), None),
        notify.NotifyItemDone(MessageItem("item_1", "user", "what is", spoken=True), None),
        notify.NotifyTranscript("item_1", "what is it", final=True, seconds=1.0),
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


def test_an_item_begins_where_the_sound_of_the_one_before_ends_at_the_earliest() -> None:
    wire = Wire(call_settings(turn_detection=turn_detection(prefix_padding_s=0.3, silence_s=0.2)))
    (stopped,) = wire.notify(notify.NotifySpeechStopped("item_1", 3.968, 4.256))
    (started,) = wire.notify(notify.NotifySpeechStarted("item_2", 4.4, 4.256))
    assert stopped["audio_end_ms"] == started["audio_start_ms"] == 4256


def test_speech_never_begins_before_the_call() -> None:
    assert Wire().notify(notify.NotifySpeechStarted("item_1", 0.1))[0]["audio_start_ms"] == 0


def test_turns_words_come_with_its_transcript_alone() -> None:
    turn = MessageItem("item_1", "user", "what is", spoken=True)
    committed = notify.NotifyInputCommitted("item_1", None)
    events = Wire().notify(committed, notify.NotifyItemAdded(turn, None), notify.NotifyItemDone(turn, None))
    for event in events[1:]:
        assert event["item"]["content"] == [{"type": "input_audio", "transcript": None}]


def test_clients_item_of_speech_is_shown_with_the_words_that_it_gave() -> None:
    item = MessageItem("item_1", "user", "what is", spoken=True)
    (event,) = Wire().notify(notify.NotifyItemAdded(item, None))
    assert event["item"]["content"] == [{"type": "input_audio", "transcript": "what is"}]


def test_a_failed_transcription_names_its_item() -> None:
    event = Wire().notify(notify.NotifyTranscriptFailed("item_1", "the recognizer died"))[0]
    assert event["item_id"] == "item_1"
    assert event["error"]["message"] == "speech-to-text failed"
    assert None not in event["error"].values(), "a client of openai-agents takes no null here"


def test_the_silence_of_an_idle_caller_ends_where_it_was_noticed() -> None:
    settings = call_settings(turn_detection=turn_detection(idle_timeout_s=6.0))
    event = Wire(settings).notify(notify.NotifyIdle("item_1", 10.0))[0]
    assert (event["audio_start_ms"], event["audio_end_ms"]) == (4000, 10_000)


def test_the_silence_of_an_idle_caller_is_committed_as_an_item_without_words() -> None:
    events = Wire(call_settings()).notify(notify.NotifyIdle("item_2", 10.0, True, "item_1"))
    place = {"item_id": "item_2", "previous_item_id": "item_1"}
    assert [event["type"] for event in events] == [
        "input_audio_buffer.timeout_triggered",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
    ]
    assert place.items() <= events[1].items()
    assert events[2]["item"]["content"] == [{"type": "input_audio", "transcript": None}]


def test_a_pressed_key_is_reported_with_its_time() -> None:
    # The package's model of this event knows no id, which all events of the protocol carry.
    (event,) = Encoder("sess_1", "conv_1").encode(notify.NotifyKeyPressed("9", 1_763_605_109))
    event.pop("event_id")
    assert proved(event) == {
        "type": "input_audio_buffer.dtmf_event_received",
        "event": "9",
        "received_at": 1_763_605_109,
    }


def test_a_cleared_buffer_is_reported() -> None:
    assert kinds(Wire().notify(notify.NotifyInputCleared())) == ["input_audio_buffer.cleared"]


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
    events = Wire().notify(
        notify.NotifyItemAdded(item, None),
        notify.NotifyItemDone(item, None),
        notify.NotifyItemRetrieved(item),
    )
    assert kinds(events) == [
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.retrieved",
    ]
    for event in events:
        assert event["item"].items() >= shown.items()
        assert event["item"]["id"] == "item_1"


def test_a_deleted_item_is_reported() -> None:
    assert Wire().notify(notify.NotifyItemDeleted("item_1"))[0]["item_id"] == "item_1"


def test_settings_are_reported_in_full() -> None:
    settings = call_settings(
        model="some-model",
        instructions="Be kind.",
        tools=(Tool("weather", "Sky.", {"type": "object"}),),
        tool_choice="weather",
        turn_detection=turn_detection(interrupt_response=True),
    )
    event = Wire().notify(notify.NotifySettings(settings))[0]
    assert event["type"] == "session.updated"
    session = event["session"]
    assert session["id"] == "sess_1"
    assert session["model"] == "some-model"
    assert session["instructions"] == "Be kind."
    assert session["tool_choice"] == {"type": "function", "name": "weather"}
    assert session["audio"]["input"]["turn_detection"]["interrupt_response"] is True
    assert session["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24_000}


def test_an_error_names_the_event_that_caused_it() -> None:
    event = Wire().notify(notify.NotifyError("invalid_value", "x is 3; allowed: 4", "x", "event_of_mine"))[0]
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
    counts = TurnCounts(preemptive_attempts=2, preemptive_hits=1, tokens_wasted=7)
    report = ledger.report(LatencyBudget({"endpointing": 0.1}, 1.0), "completed", counts)
    event = Encoder("sess_1", "conv_1").encode_report(report)
    assert event["type"] == "voiceagent.latency"
    assert event["turn_id"] == "item_1"
    assert event["total_ms"] == 250
    assert event["budget_ms"] == 1000
    assert event["stages"][0] == {"name": "endpointing", "ms": 200, "budget_ms": 100, "hidden_ms": 0}
    assert event["over_budget"] == ["endpointing"]
    assert event["counts"] == asdict(counts)
    assert event["end_of_turn"] is None


def test_a_turns_latency_says_what_ended_it() -> None:
    ended = EndOfTurn(0.9, 0.128, (("bias", 0.4), ("asks", 0.8)))
    report = replace(TurnLedger("item_1").report(LatencyBudget(), "completed"), end_of_turn=ended)
    event = Encoder("sess_1", "conv_1").encode_report(report)
    assert event["end_of_turn"] == {
        "probability": 0.9,
        "silence_ms": 128,
        "witnesses": {"bias": 0.4, "asks": 0.8},
    }


def test_a_second_opinion_has_no_event_in_the_protocol() -> None:
    assert list(Encoder("sess_1", "conv_1").encode(notify.NotifyTranscriptRevised("item_1", "a pool"))) == []
