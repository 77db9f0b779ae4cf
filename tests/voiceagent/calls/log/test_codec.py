"""Events and commands to JSON and back, whatever fields they have."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from call_settings import call_settings
from call_world import POLICY

from audio.synthesizers import Speech, WordTiming
from llmcore.engine import Tool, ToolCall, Usage
from voiceagent.calls.log.codec import (
    CodecError,
    Inline,
    decode,
    decode_fields,
    encode,
    encode_fields,
    types_of,
)
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem, ToolCallItem
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy

EVENTS = types_of(ev.Event)
SOUND = Speech(np.arange(480, dtype=np.int16), (WordTiming(0, 12),))
EXAMPLES = (
    ev.SpeechStarted(1.5),
    ev.TranscriptChanged("item_1", "is there", "is", settled=True, confidence=0.75),
    ev.ToolCallsReady("resp_1", (ToolCall("call_1", "book", '{"room": 12}'),)),
    ev.ToolCallsReady("resp_1", (ToolCall("call_1", "book", "{}", '{"server": "a", "call": {"sign": 1}}'),)),
    ev.ResponseGenerated("resp_1", "length", Usage(10, 5, 3, 0.25)),
    ev.ResponseGenerated("resp_1", "stop", Usage(), '{"server": "a"}'),
    ev.SettingsChanged(
        call_settings(tools=(Tool("book", "Books.", {"type": "object"}),), turn_detection=None)
    ),
    ev.ItemCreated(MessageItem("item_1", "user", "typed")),
    ev.ItemCreated(ToolCallItem("item_2", ToolCall("call_1", "book", "{}")), "item_1"),
    ev.ResponseRequested(metadata={"caller": "5"}),
)


class Marked:
    """Shows which texts are words."""

    def written(self, text: str) -> str:
        return f"words:{text}"


def through_json(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_comes_back_as_it_was(event):
    assert decode(through_json(encode(event, Inline())), EVENTS) == event


def test_settings_and_policy_come_back_as_they_were():
    for value, kind in ((call_settings(), CallSettings), (POLICY, TurnPolicy)):
        assert decode_fields(through_json(encode_fields(value, Inline())), kind) == value


def test_sound_comes_back_as_silence_of_its_length_with_its_digest():
    written = through_json(encode(ev.SpeechReady("resp_1", SOUND), Inline()))
    read = decode(written, EVENTS)
    assert len(read.speech.samples) == 480
    assert encode(do.Play("resp_1", read.speech), Inline())["speech"] == written["speech"]


def test_other_sound_has_another_digest():
    other = Speech(SOUND.samples[::-1], SOUND.words)
    assert encode(do.Play("resp_1", other), Inline()) != encode(do.Play("resp_1", SOUND), Inline())


def test_words_go_through_what_decides_about_them_and_ids_do_not():
    written = encode(do.StopRecognition("item_1"), Marked())
    assert written == {"type": "StopRecognition", "item_id": "item_1"}
    written = encode(ev.ToolCallsReady("resp_1", (ToolCall("call_1", "book", '{"room": 12}'),)), Marked())
    (call,) = written["calls"]
    assert call == {"call_id": "call_1", "name": "book", "arguments": 'words:{"room": 12}'}
    assert encode(ev.KeyPressed("5", 1), Marked())["digit"] == "words:5"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"type": "Shouted"}, "type 'Shouted' is not known here"),
        ({"type": "SpeechStarted"}, "SpeechStarted.at_s is missing"),
        ({"type": "SpeechStarted", "at_s": "1"}, 'SpeechStarted.at_s is "1"; allowed: float'),
        ({"type": "SpeechStarted", "at_s": 1.0, "loud": True}, "allowed: the fields at_s"),
        ({"type": "ResponseFailed", "response_id": "r", "stage": "cook", "reason": ""}, "stage is 'cook'"),
    ],
)
def test_what_is_no_such_event_is_refused_by_its_field(line, message: str):
    with pytest.raises(CodecError, match=re.escape(message)):
        decode(line, EVENTS)
