"""Client events become requests."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from call_settings import call_settings
from decoding import CALL, WEATHER, decode, mistake, sent

from audio.pcm import AudioFormat, encode
from llmcore.engine import Message, Tool, ToolCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.client_events import CLIENT_EVENTS
from voiceagent.transports.realtime.protocol.decode import AudioAppended, Decoder
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.session_settings import FORMATS

# ---- what is asked for


def test_the_eleven_client_events_of_the_protocol_and_one_of_ours_are_known() -> None:
    assert len(CLIENT_EVENTS) == 12


def test_a_page_tells_what_its_own_end_added_to_the_wait() -> None:
    told = {"type": "voiceagent.playout", "turn_id": "item_1", "jitter_ms": 40, "line_ms": 1.5}
    assert decode(json.dumps(told)) == ev.PlayoutMeasured("item_1", line_ms=1.5, jitter_ms=40)


@pytest.mark.parametrize("wrong", [-1, 1e9, "40", True])
def test_a_wait_that_cannot_be_is_refused(wrong: object) -> None:
    error = mistake(type="voiceagent.playout", turn_id="item_1", jitter_ms=wrong)
    assert error.param == "jitter_ms"


@pytest.mark.parametrize("audio_format", FORMATS.values(), ids=FORMATS)
def test_appended_sound_is_decoded_by_the_format_of_the_call(audio_format: AudioFormat) -> None:
    samples = np.array([0, 1000, -1000, 32_000], np.int16)
    wire = base64.b64encode(encode(samples, audio_format)).decode()
    appended = sent(call_settings(input_format=audio_format), type="input_audio_buffer.append", audio=wire)
    assert isinstance(appended, AudioAppended)
    assert appended.samples.dtype == np.int16
    np.testing.assert_allclose(appended.samples, samples, rtol=0.04, atol=8)


def test_appended_sound_may_come_in_lines_as_mime_has_it() -> None:
    sound = np.arange(480, dtype=np.int16)
    audio = base64.encodebytes(sound.tobytes()).decode()
    appended = sent(type="input_audio_buffer.append", audio=audio)
    assert isinstance(appended, AudioAppended) and np.array_equal(appended.samples, sound)


def test_appended_sound_may_carry_an_event_id() -> None:
    appended = sent(type="input_audio_buffer.append", audio="AAA=", event_id="e1")
    assert isinstance(appended, AudioAppended)
    assert appended.samples.tolist() == [0]


def test_a_commit_carries_its_event_id() -> None:
    request = sent(type="input_audio_buffer.commit", event_id="e1")
    assert request == ev.InputCommitted(client_event_id="e1")


def test_buffers_are_cleared() -> None:
    assert sent(type="input_audio_buffer.clear") == ev.InputCleared()
    assert sent(type="output_audio_buffer.clear") == ev.OutputCleared()


def test_items_are_deleted_and_retrieved_by_id() -> None:
    assert sent(type="conversation.item.delete", item_id="i", event_id="e") == ev.ItemDeleted("i", "e")
    assert sent(type="conversation.item.retrieve", item_id="i", event_id="e") == ev.ItemRetrieved("i", "e")


def test_a_truncation_becomes_seconds_that_were_heard() -> None:
    request = sent(type="conversation.item.truncate", item_id="i", content_index=0, audio_end_ms=1250)
    assert request == ev.ItemTruncated("i", 1.25)


def test_a_response_is_cancelled_by_id_or_whichever_it_is() -> None:
    assert sent(type="response.cancel", response_id="r", event_id="e") == ev.ResponseCancelled("r", "e")
    assert sent(type="response.cancel") == ev.ResponseCancelled()


# ---- items


def created(item: dict[str, Any], **fields: Any) -> ev.ItemCreated:
    request = sent(type="conversation.item.create", item=item, **fields)
    assert isinstance(request, ev.ItemCreated)
    return request


def test_an_item_keeps_its_id_and_its_place() -> None:
    item = {
        "type": "message",
        "role": "user",
        "id": "mine",
        "content": [{"type": "input_text", "text": "hi"}],
    }
    request = created(item, previous_item_id="root", event_id="e1")
    assert request == ev.ItemCreated(MessageItem("mine", "user", "hi"), "root", "e1")


def test_an_item_without_an_id_is_given_one() -> None:
    request = created({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]})
    assert request.item.item_id == "item_1"


def test_parts_of_a_message_are_joined_by_line_breaks() -> None:
    parts = [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]
    assert created({"type": "message", "role": "system", "content": parts}).item == MessageItem(
        "item_1", "system", "one\ntwo"
    )


def test_an_assistant_message_is_text() -> None:
    content = [{"type": "output_text", "text": "Hello."}]
    item = created({"type": "message", "role": "assistant", "content": content}).item
    assert item == MessageItem("item_1", "assistant", "Hello.")


def test_spoken_words_come_with_their_transcript() -> None:
    content = [{"type": "input_audio", "audio": "AAAA", "transcript": "hello"}]
    item = created({"type": "message", "role": "user", "content": content}).item
    assert item == MessageItem("item_1", "user", "hello", spoken=True)


def sound_item(*audio: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "input_audio", "audio": one} for one in audio]
    return {"type": "message", "role": "user", "content": content} | fields


@pytest.mark.parametrize("audio_format", FORMATS.values(), ids=FORMATS)
def test_sound_in_an_item_is_in_the_format_of_the_call(audio_format: AudioFormat) -> None:
    second = np.full(audio_format.rate_hz, 1000, np.int16)
    audio = base64.b64encode(encode(second, audio_format)).decode()
    request = sent(
        call_settings(input_format=audio_format),
        type="conversation.item.create",
        item=sound_item(audio, audio),
    )
    assert isinstance(request, ev.ItemCreated)
    assert request.item == MessageItem("item_1", "user", "", spoken=True)
    assert len(request.sound) == 2 * 16_000
    assert abs(int(np.median(request.sound)) - 1000) < 40


def test_text_beside_sound_in_an_item_stands_before_its_words() -> None:
    item = sound_item("AAA=")
    item["content"].insert(0, {"type": "input_text", "text": "She said:"})
    request = sent(type="conversation.item.create", item=item)
    assert isinstance(request, ev.ItemCreated)
    assert request.item == MessageItem("item_1", "user", "She said:", spoken=True)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            {"type": "input_audio", "audio": "c2VjcmV0c2VjcmV0c2VjcmV0!"},
            "item.content[0].audio is not base64",
        ),
        ({"type": "input_audio"}, "audio or transcript is needed"),
        ({"type": "input_audio", "audio": ""}, "audio or transcript is needed"),
        (
            {"type": "input_audio", "audio": "c2VjcmV0c2VjcmV0c2VjcmV0", "rate": 8000},
            "there is no such field",
        ),
        ({"type": "output_audio", "audio": "c2VjcmV0c2VjcmV0c2VjcmV0"}, "content[0]"),
    ],
)
def test_an_error_about_sound_does_not_repeat_it(part: dict[str, Any], said: str) -> None:
    error = mistake(type="conversation.item.create", item=sound_item() | {"content": [part]})
    assert said in error.message
    assert "c2Vj" not in error.message


def test_the_agents_own_sound_needs_its_words() -> None:
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_audio", "audio": "c2VjcmV0"}],
    }
    error = mistake(type="conversation.item.create", item=item)
    assert "transcript is needed" in error.message and "c2VjcmV0" not in error.message


def test_sound_in_the_input_of_one_response_is_to_be_created_as_an_item() -> None:
    error = mistake(type="response.create", response={"input": [sound_item("AAAA")]})
    assert error.param == "response.input[0].content[0]"


PICTURE = "data:image/png;base64,iVBORw0KGgo="
LOOK = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": PICTURE}]


def test_a_picture_goes_to_an_llm_that_sees() -> None:
    item = {"type": "message", "role": "user", "content": LOOK}
    request = sent(call_settings(sees_images=True), type="conversation.item.create", item=item)
    assert isinstance(request, ev.ItemCreated)
    assert request.item == MessageItem("item_1", "user", "What is this?", images=(PICTURE,))


@pytest.mark.parametrize(
    ("event", "place"),
    [
        ({"type": "conversation.item.create", "item": {"content": LOOK}}, "item.content[1]"),
        (
            {"type": "response.create", "response": {"input": [{"content": LOOK}]}},
            "response.input[0].content[1]",
        ),
    ],
)
def test_a_picture_for_an_llm_that_does_not_see_is_refused(event: dict[str, Any], place: str) -> None:
    for message in (event.get("item"), *event.get("response", {}).get("input", ())):
        if message is not None:
            message |= {"type": "message", "role": "user"}
    error = mistake(**event)
    assert (error.code, error.param) == ("invalid_value", place)
    assert "does not see (llm.images)" in error.message and "iVBOR" not in error.message


@pytest.mark.parametrize(
    "url", ["https://shop.example/a.png", "data:text/html;base64,AAAA", "data:image/png,x"]
)
def test_a_picture_comes_in_the_event(url: str) -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": url}]}
    error = mistake(settings=call_settings(sees_images=True), type="conversation.item.create", item=item)
    assert error.param == "item.content[0].image_url"


def test_a_function_call_and_its_output_are_items() -> None:
    call = {"type": "function_call", "name": "weather", "arguments": "{}", "call_id": "c"}
    assert created(call).item == ToolCallItem("item_1", ToolCall("c", "weather", "{}"))
    output = {"type": "function_call_output", "call_id": "c", "output": "sunny"}
    assert created(output).item == ToolOutputItem("item_1", "c", "sunny")


# ---- response.create


def requested(settings: CallSettings = CALL, **response: Any) -> ev.ResponseRequested:
    request = sent(settings, type="response.create", response=response)
    assert isinstance(request, ev.ResponseRequested)
    return request


def test_a_plain_response_keeps_all_settings_of_the_call() -> None:
    assert sent(type="response.create") == ev.ResponseRequested()
    assert sent(type="response.create", event_id="e") == ev.ResponseRequested(client_event_id="e")


def test_a_response_may_depart_from_the_call() -> None:
    request = requested(
        instructions="Be brief.",
        output_modalities=["text"],
        tools=[WEATHER],
        tool_choice={"type": "function", "name": "weather"},
        max_output_tokens=20,
        conversation="none",
        metadata={"purpose": "title"},
    )
    assert request == ev.ResponseRequested(
        instructions="Be brief.",
        modality="text",
        tools=(Tool("weather", "Tells the weather.", {"type": "object"}),),
        tool_choice="weather",
        max_output_tokens=20,
        in_conversation=False,
        metadata={"purpose": "title"},
    )


def test_input_of_a_response_stands_in_place_of_the_history() -> None:
    items = [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "What is two plus two?"}],
        },
    ]
    assert requested(input=items).messages == (Message("user", "What is two plus two?"),)
    assert requested(input=[]).messages == ()


def test_tools_of_the_call_can_be_chosen_by_a_response() -> None:
    call = call_settings(tools=(Tool("weather", ""),))
    assert requested(call, tool_choice={"type": "function", "name": "weather"}).tool_choice == "weather"


def test_a_response_has_the_audio_format_of_the_call() -> None:
    output = {"format": {"type": "audio/pcmu"}}
    assert requested(call_settings(output_format=AudioFormat.PCMU), audio={"output": output})
    error = mistake(type="response.create", response={"audio": {"output": output}})
    assert (error.code, error.param) == ("invalid_value", "response.audio.output.format")


OLD = (MessageItem("item_old", "user", "a pizza"), MessageItem("item_new", "assistant", "Which one?"))


def with_input(*given: dict[str, Any]) -> ev.ClientRequest | AudioAppended:
    text = json.dumps({"type": "response.create", "event_id": "e", "response": {"input": given}})
    return Decoder(CALL, "{}_1".format, items=lambda: OLD).decode(text, CALL)


def reference(item_id: str) -> dict[str, Any]:
    return {"type": "item_reference", "id": item_id}


def test_what_a_response_is_given_may_refer_to_items_of_the_conversation() -> None:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Classify that."}]}
    request = with_input(reference("item_new"), said)
    assert isinstance(request, ev.ResponseRequested)
    assert request.messages == (Message("assistant", "Which one?"), Message("user", "Classify that."))


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        (["item_old", "item_gone"], "item_not_found", "[1].id is 'item_gone', but there is no such item"),
        (["item_old", "item_old"], "invalid_value", "[0].id is 'item_old', which is referred to twice"),
    ],
)
def test_a_reference_to_no_item_or_twice_to_one_is_refused(given: list[str], code: str, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        with_input(*map(reference, given))
    assert (caught.value.code, caught.value.client_event_id) == (code, "e")
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("role", "part", "others"),
    [
        ("user", {"type": "input_text", "text": "hi"}, ("audio", "transcript", "image_url", "detail")),
        ("user", {"type": "input_audio", "transcript": "hi"}, ("audio", "text", "image_url", "detail")),
        ("assistant", {"type": "output_text", "text": "hi"}, ("audio", "transcript")),
        ("assistant", {"type": "output_audio", "transcript": "hi"}, ("audio", "text")),
    ],
)
def test_null_fields_of_other_kinds_of_parts_mean_nothing(
    role: str, part: dict[str, str], others: tuple[str, ...]
) -> None:
    request = created({"type": "message", "role": role, "content": [part | dict.fromkeys(others)]})
    assert isinstance(request.item, MessageItem) and request.item.text == "hi"


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" ,", " :")])
@pytest.mark.parametrize("order", [("type", "audio"), ("audio", "type")])
def test_sound_is_understood_however_its_event_is_written(separators, order) -> None:
    sound = np.arange(480, dtype=np.int16)
    fields = {"type": "input_audio_buffer.append", "audio": base64.b64encode(sound.tobytes()).decode()}
    text = json.dumps({name: fields[name] for name in order}, separators=separators)
    appended = Decoder(call_settings(), "{}_1".format).decode(text, call_settings())
    assert isinstance(appended, AudioAppended) and np.array_equal(appended.samples, sound)


@pytest.mark.parametrize("voice", ["bf_emma", {"id": "bf_emma"}])
def test_response_create_with_a_voice_asks_for_it(voice: str | dict[str, str]) -> None:
    request = sent(type="response.create", response={"audio": {"output": {"voice": voice}}})
    assert request == ev.ResponseRequested(voice="bf_emma")
