"""A response becomes a response: every event is one that the `openai` package knows, in a lawful order."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from call_settings import call_settings
from hypothesis import given
from hypothesis import strategies as st
from wire import FRAME, Wire, kinds

from audio.pcm import AudioFormat, decode
from llmcore.engine import ToolCall, Usage
from voiceagent.conversation import notifications as notify
from voiceagent.transports.realtime.protocol.session_settings import FORMATS

WEATHER = ToolCall("call_1", "weather", '{"city":"Bonn"}')


def started(modality: Any = "audio", **fields: Any) -> notify.NotifyResponseStarted:
    return notify.NotifyResponseStarted("resp_1", modality, **fields)


def said(text: str) -> notify.NotifyResponseText:
    return notify.NotifyResponseText("resp_1", "item_9", "item_8", text)


def ended(status: Any = "completed", reason: str = "") -> notify.NotifyResponseEnded:
    return notify.NotifyResponseEnded("resp_1", status, reason, Usage(30, 20, 7))


# ---- a response


def test_a_spoken_response_is_the_protocols_sequence() -> None:
    wire = Wire()
    events = wire.notify(started(), said("Hello, "))
    events.append(wire.play("resp_1"))
    events += wire.notify(said("you."))
    events.append(wire.play("resp_1"))
    events += wire.notify(ended())
    assert kinds(events) == [
        "response.created",
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
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]


def test_a_written_response_has_text_in_place_of_sound() -> None:
    events = Wire().notify(started("text"), said("Hello."), ended())
    assert kinds(events)[3:] == [
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]
    assert events[-1]["response"]["output"][0]["content"] == [{"type": "output_text", "text": "Hello."}]


def test_a_response_shows_all_that_was_said_and_what_it_cost() -> None:
    events = Wire().notify(
        started(max_tokens=50, metadata={"a": "b"}), said("Hello, "), said("you."), ended()
    )
    response = events[-1]["response"]
    assert response["id"] == "resp_1"
    assert response["status"] == "completed"
    assert response["status_details"] is None
    assert response["output"] == [
        {
            "id": "item_9",
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
    events = Wire().notify(started(), said("Hi."), ended())
    places = [event["previous_item_id"] for event in events if event["type"].startswith("conversation.item")]
    assert places == ["item_8", "item_8"]


def test_a_response_beside_the_conversation_adds_no_item_to_it() -> None:
    events = Wire().notify(started("text", in_conversation=False), said("Title"), ended())
    assert not [kind for kind in kinds(events) if kind.startswith("conversation.item")]
    assert events[-1]["response"]["conversation_id"] is None


def test_a_tool_call_is_complete_only_when_it_is_done() -> None:
    call = notify.NotifyToolCall("resp_1", "item_9", None, WEATHER)
    events = Wire().notify(started(), call, ended())
    assert kinds(events)[1:] == [
        "response.output_item.added",
        "conversation.item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]
    added, done = events[1]["item"], events[6]["item"]
    assert (added["status"], added["arguments"]) == ("in_progress", "")
    assert (done["status"], done["arguments"], done["call_id"]) == ("completed", WEATHER.arguments, "call_1")
    assert events[4]["name"] == "weather"


def test_a_tool_can_run_while_the_response_is_still_spoken() -> None:
    wire = Wire()
    events = wire.notify(
        started(), said("Let me see."), notify.NotifyToolCall("resp_1", "item_10", None, WEATHER)
    )
    assert kinds(events)[-1] == "response.output_item.done"
    assert events[-1]["output_index"] == 1
    wire.play("resp_1")
    events = wire.notify(ended())
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["message", "function_call"]


def test_words_after_a_tool_call_are_an_item_of_their_own() -> None:
    wire = Wire()
    wire.notify(started(), notify.NotifyToolCall("resp_1", "item_10", None, WEATHER), said("Looking."))
    assert wire.play("resp_1")["output_index"] == 1


def test_a_cancelled_response_is_closed_in_order_and_says_why() -> None:
    wire = Wire()
    wire.notify(started(), said("Hello, you."))
    wire.play("resp_1")
    events = wire.notify(notify.NotifyItemTruncated("item_9", 0.02), ended("cancelled", "turn_detected"))
    assert events[0]["audio_end_ms"] == 20
    response = events[-1]["response"]
    assert response["status"] == "cancelled"
    assert response["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert response["output"][0]["status"] == "incomplete"


def test_a_reason_that_the_protocol_does_not_have_is_left_out() -> None:
    response = Wire().notify(started(), ended("cancelled", "the moon"))[-1]["response"]
    assert response["status_details"] == {"type": "cancelled"}


def test_a_response_cut_by_its_token_limit_is_incomplete() -> None:
    response = Wire().notify(started(), said("Hello"), ended("incomplete", "max_output_tokens"))[-1][
        "response"
    ]
    assert response["status_details"] == {"type": "incomplete", "reason": "max_output_tokens"}


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("llm: http://10.0.0.7/v1: out of memory", "the language model failed"),
        ("synthesizer: /opt/voices/a.onnx", "text-to-speech failed"),
        ("limits: the prompt has 9 tokens", "the prompt has 9 tokens"),
    ],
)
def test_a_failed_response_tells_the_part_and_nothing_internal(reason: str, told: str) -> None:
    response = Wire().notify(started(), said("Sorry."), ended("failed", reason))[-1]["response"]
    error = {"type": "server_error", "message": told}
    assert response["status_details"] == {"type": "failed", "error": error}


def test_a_response_of_nothing_is_a_response_of_no_items() -> None:
    assert Wire().notify(started(), ended())[-1]["response"]["output"] == []


def test_what_comes_late_from_a_response_is_nothing() -> None:
    wire = Wire()
    wire.notify(started(), said("Hi."), ended())
    assert wire.notify(said("more")) == []
    assert wire.notify(ended()) == []
    assert wire.encoder.encode_audio("resp_1", FRAME) is None


def test_sound_has_no_place_before_the_words_it_belongs_to() -> None:
    wire = Wire()
    wire.notify(started())
    assert wire.encoder.encode_audio("resp_1", FRAME) is None


# ---- sound


@pytest.mark.parametrize("audio_format", FORMATS.values(), ids=FORMATS)
def test_sound_goes_out_in_the_format_of_the_call(audio_format: AudioFormat) -> None:
    wire = Wire(call_settings(output_format=audio_format))
    wire.notify(started(), said("Hi."))
    sound = decode(base64.b64decode(wire.play("resp_1")["delta"]), audio_format)
    np.testing.assert_allclose(sound, FRAME, rtol=0.05, atol=8)


def test_each_response_has_its_own_place_for_sound() -> None:
    wire = Wire()
    wire.notify(started(), said("Hi."))
    first = wire.play("resp_1")
    wire.notify(ended(), notify.NotifyResponseStarted("resp_2", "audio"))
    wire.notify(notify.NotifyResponseText("resp_2", "item_20", "item_9", "Again."))
    second = wire.play("resp_2")
    assert (first["response_id"], first["item_id"]) == ("resp_1", "item_9")
    assert (second["response_id"], second["item_id"]) == ("resp_2", "item_20")


def test_response_shows_its_own_voice_where_it_has_one() -> None:
    [usual] = Wire().notify(started())
    [own] = Wire().notify(started(voice="bf_emma"))
    assert usual["response"]["audio"]["output"]["voice"] == "default"
    assert own["response"]["audio"]["output"]["voice"] == "bf_emma"


# ---- any response

_ACTIONS = st.lists(st.sampled_from(["text", "sound", "tool"]), max_size=8)
_RESPONSES = st.lists(
    st.tuples(
        st.sampled_from(["audio", "text"]),
        st.booleans(),
        _ACTIONS,
        st.sampled_from(["completed", "cancelled", "failed", "incomplete"]),
    ),
    max_size=4,
)


@given(_RESPONSES, st.text())
def test_any_response_is_a_lawful_sequence_of_proved_events(
    responses: list[tuple[Any, bool, list[str], Any]], text: str
) -> None:
    wire = Wire()
    for number, (modality, in_conversation, actions, status) in enumerate(responses):
        response_id = f"resp_{number}"
        wire.notify(notify.NotifyResponseStarted(response_id, modality, None, in_conversation))
        for index, action in enumerate(actions):
            match action:
                case "text":
                    wire.notify(notify.NotifyResponseText(response_id, f"item_{number}", None, text))
                case "tool":
                    call = ToolCall(f"call_{number}_{index}", "weather", text)
                    wire.notify(notify.NotifyToolCall(response_id, f"item_{number}_{index}", None, call))
                case "sound" if modality == "audio" and "text" in actions[:index]:
                    wire.play(response_id)
        wire.notify(notify.NotifyResponseEnded(response_id, status, "turn_detected"))
        assert wire.order.done[response_id]["status"] == status
    assert not wire.order.open
