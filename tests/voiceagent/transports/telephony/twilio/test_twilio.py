"""Twilio's serializer, against the messages of its documentation.

https://www.twilio.com/docs/voice/media-streams/websocket-messages
"""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
import twilio_line as line
from hypothesis import given
from hypothesis import strategies as st
from refused_messages import refusal

from audio.pcm import AudioFormat, decode
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    MarkPlayed,
    Media,
    ProtocolError,
    Started,
    Stopped,
    Unknown,
)
from voiceagent.transports.telephony.twilio import TwilioSerializer


def started() -> TwilioSerializer:
    serializer = TwilioSerializer()
    serializer.decode(line.start())
    return serializer


def test_connected_says_nothing_of_interest():
    assert TwilioSerializer().decode(line.connected()) is None


def test_start_tells_the_call_its_account_its_parameters_and_mu_law():
    event = TwilioSerializer().decode(line.start({"FirstName": "Jane", "LastName": "Doe"}))
    assert event == Started(
        line.CALL,
        AudioFormat.PCMU,
        AudioFormat.PCMU,
        line.ACCOUNT,
        {"FirstName": "Jane", "LastName": "Doe"},
        frame_s=0.06,
    )


def test_media_is_sound_with_its_place():
    assert started().decode(line.media(b"\xff\x7f\x00", 2)) == Media(b"\xff\x7f\x00", 2)


def test_media_may_have_its_base64_in_lines():
    message = line.media(bytes(range(160)), 1)
    payload = json.loads(message)["media"]["payload"]
    in_lines = message.replace(payload, payload[:76] + "\\n" + payload[76:] + "\\r\\n")
    assert started().decode(in_lines) == Media(bytes(range(160)), 1)


def test_what_the_caller_hears_is_not_taken_for_his_voice():
    assert started().decode(line.media(b"\xff", 1, track="outbound")) is None


def test_a_key_a_mark_and_a_stop_are_reported():
    serializer = started()
    assert serializer.decode(line.dtmf("1")) == KeyPressed("1")
    assert serializer.decode(line.mark("my label")) == MarkPlayed("my label")
    assert isinstance(serializer.decode(line.stop()), Stopped)


def test_an_event_that_twilio_may_have_added_is_unknown():
    assert started().decode('{"event":"weather"}') == Unknown("weather")


def test_the_agents_sound_goes_out_as_mu_law_in_base64():
    frame = np.linspace(-32_768, 32_767, 160).astype(np.int16)
    message = json.loads(started().media(frame))
    assert message.keys() == {"event", "streamSid", "media"}
    assert message["event"] == "media"
    assert message["streamSid"] == line.STREAM
    sound = decode(base64.b64decode(message["media"]["payload"]), AudioFormat.PCMU)
    assert np.abs(sound.astype(int) - frame).max() < 1_024


def test_mark_and_clear_carry_the_stream():
    serializer = started()
    assert json.loads(serializer.mark("7")) == {
        "event": "mark",
        "streamSid": line.STREAM,
        "mark": {"name": "7"},
    }
    assert json.loads(serializer.clear()) == {"event": "clear", "streamSid": line.STREAM}
    assert serializer.hang_up() is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (line.start(streamSid=""), "streamSid is ''"),
        (line.start(streamSid="MZother"), "allowed: the stream's own, MZother"),
        (line.start(callSid=None), "callSid is None"),
        (line.start(mediaFormat=None), "mediaFormat is None; allowed: an object"),
        (
            line.start(mediaFormat={**line.MEDIA_FORMAT, "encoding": "opus"}),
            "'opus'; allowed: 'audio/x-mulaw'",
        ),
        (
            line.start(mediaFormat={**line.MEDIA_FORMAT, "sampleRate": 16000}),
            "sampleRate is 16000; allowed: 8000",
        ),
        (line.start(customParameters={"a": 1}), "customParameters.a is 1; allowed: text"),
        (line.start(customParameters={str(n): "" for n in range(65)}), "at most 64 fields"),
        (
            line.start(customParameters={"a": "b" * 2_048}),
            "at most 2048 characters with its name; 'a' has more",
        ),
        (line.start(accountSid=1), "start.accountSid is 1; allowed: text"),
        ("{", "not JSON"),
        ("[]", "a message is []; allowed: a JSON object"),
        ("{}", "event is None"),
    ],
)
def test_a_wrong_beginning_says_what_is_wrong(message, said):
    assert said in refusal(TwilioSerializer(), message)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (line.start(), "a second start came"),
        (line.media(b"\xff", 1, stream="MZother"), "streamSid is 'MZother'; allowed: the stream's own"),
        (line.media(b"\xff", 1).replace('"chunk": "1"', '"chunk": "-1"'), "chunk is '-1'"),
        (line.media(b"\xff", 1).replace('"/w=="', '"/w"'), "payload is not base64"),
        (line.media(b"\xff", 1).replace('"/w=="', '"ü"'), "payload is not base64"),
        (line.media(b"\xff", 1).replace('"/w=="', "7"), "payload is 7; allowed: text"),
        (line.dtmf("12"), "digit is '12'; allowed: one of 0123456789*#ABCD"),
        (line.dtmf("x"), "digit is 'x'; allowed: one of"),
        (line.mark(""), "name is ''"),
    ],
)
def test_a_wrong_message_says_what_is_wrong(message, said):
    assert said in refusal(started(), message)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)


@given(
    st.sampled_from(["connected", "start", "media", "dtmf", "mark", "stop", "other"]),
    st.dictionaries(st.sampled_from(["start", "media", "dtmf", "mark", "streamSid"]), JSON),
    st.booleans(),
)
def test_whatever_comes_is_an_event_or_a_line_error(event, fields, begun):
    serializer = started() if begun else TwilioSerializer()
    try:
        serializer.decode(json.dumps({"event": event, "streamSid": line.STREAM, **fields}))
    except ProtocolError as error:
        assert str(error)
