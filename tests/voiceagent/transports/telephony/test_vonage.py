"""Vonage's serializer, against the messages of its documentation.

https://developer.vonage.com/en/voice/voice-api/concepts/websockets
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from refused_messages import refusal

from audio.pcm import AudioFormat
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    MarkPlayed,
    Media,
    Started,
    Unknown,
)
from voiceagent.transports.telephony.vonage import VonageSerializer


def connected(rate_hz: int = 16_000, **headers) -> str:
    return json.dumps(
        {"event": "websocket:connected", "content-type": f"audio/l16;rate={rate_hz}", **headers}
    )


@pytest.mark.parametrize("headers", [{"headers": {"room": 12, "vip": True}}, {"room": 12, "vip": True}])
def test_headers_that_are_no_text_are_read_as_they_are_written(headers):
    found = VonageSerializer().decode(connected(**headers))
    assert isinstance(found, Started)
    assert found.parameters == {"room": "12", "vip": "true"}


def started() -> VonageSerializer:
    serializer = VonageSerializer()
    serializer.decode(connected())
    return serializer


@pytest.mark.parametrize(
    ("rate_hz", "audio_format"),
    [(8_000, AudioFormat.PCM_8K), (16_000, AudioFormat.PCM_16K), (24_000, AudioFormat.PCM_24K)],
)
def test_the_first_message_tells_the_rate_and_what_the_ncco_passed_on(rate_hz, audio_format):
    found = VonageSerializer().decode(connected(rate_hz, prop1="value1", call_uuid="u1"))
    assert (found.input_format, found.output_format) == (audio_format, audio_format)
    assert found.parameters == {"prop1": "value1", "call_uuid": "u1"}
    assert found.call_id == "u1"


def test_sound_is_the_message_itself_little_endian():
    serializer = started()
    assert serializer.decode(b"\x01\x00" * 320) == Media(b"\x01\x00" * 320)
    assert serializer.media(np.full(320, 1, np.int16)) == b"\x01\x00" * 320


def test_keys_and_notifications_are_reported():
    serializer = started()
    assert serializer.decode('{"event":"websocket:dtmf","digit":"5","duration":260}') == KeyPressed("5")
    assert serializer.decode('{"event":"websocket:notify","payload":{"name":"7"}}') == MarkPlayed("7")
    assert serializer.decode('{"event":"websocket:cleared"}') is None
    assert serializer.decode('{"event":"weather"}') == Unknown("weather")


def test_a_mark_is_a_notice_that_vonage_sends_back():
    serializer = started()
    assert json.loads(serializer.mark("7")) == {"action": "notify", "payload": {"name": "7"}}
    assert json.loads(serializer.clear()) == {"action": "clear"}
    assert serializer.hang_up() is None


@pytest.mark.parametrize(
    ("before", "message", "said"),
    [
        ("", connected(44_100), "'audio/l16;rate=44100'; allowed: audio/l16;rate=8000"),
        ("", '{"event":"websocket:connected","content-type":"audio/opus"}', "content-type is 'audio/opus'"),
        ("", connected(headers=12), "headers is 12; allowed: an object"),
        (connected(), connected(), "a second websocket:connected came"),
        (connected(), '{"event":7}', "event is 7"),
    ],
)
def test_what_is_wrong_is_named(before, message, said):
    assert said in refusal(VonageSerializer(), message, before)
