"""Telnyx's serializer, against the messages of its documentation.

https://developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket
"""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from refused_messages import refusal

from audio.pcm import AudioFormat
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    LineError,
    MarkPlayed,
    Media,
    Started,
    Stopped,
    Unknown,
)
from voiceagent.transports.telephony.telnyx import TelnyxSerializer

STREAM = "32DE0DEA-53CB-4B21-89A4-9E1819C043BC"


def start(encoding: str = "PCMU", rate_hz: int = 8_000, **changes) -> str:
    fields = {
        "user_id": "3E6F995F-85F7-4705-9741-53B116D28237",
        "call_control_id": "v2:T02llQxIyaRkhfRKxgAP8nY511EhFLizdvdUKJiSw8d6A9BborherQ",
        "client_state": "aGF2ZSBhIG5pY2UgZGF5ID1d",
        "from": "+13122010094",
        "to": "+13122123456",
        "media_format": {"encoding": encoding, "sample_rate": rate_hz, "channels": 1},
        **changes,
    }
    return json.dumps({"event": "start", "sequence_number": "1", "start": fields, "stream_id": STREAM})


def event(name: str, stream: str = STREAM, **fields) -> str:
    return json.dumps({"event": name, "sequence_number": "4", "stream_id": stream, **fields})


def media(sound: bytes, chunk: int = 2, track: str = "inbound", stream: str = STREAM) -> str:
    payload = base64.b64encode(sound).decode()
    content = {"track": track, "chunk": str(chunk), "timestamp": "5", "payload": payload}
    return event("media", stream, media=content)


def started(**options) -> TelnyxSerializer:
    serializer = TelnyxSerializer()
    serializer.decode(start(**options))
    return serializer


def test_start_tells_the_call_who_calls_whom_and_the_parameters():
    serializer = TelnyxSerializer()
    assert serializer.decode('{"event":"connected","version":"1.0.0"}') is None
    found = serializer.decode(start(custom_parameters={"room": "12"}))
    assert isinstance(found, Started)
    assert found.call_id.startswith("v2:T02llQx")
    assert found.parameters == {"from": "+13122010094", "to": "+13122123456", "room": "12"}


def test_parameters_may_come_as_the_list_that_telnyx_is_given():
    found = TelnyxSerializer().decode(start(custom_parameters=[{"name": "room", "value": "12"}]))
    assert isinstance(found, Started)
    assert found.parameters["room"] == "12"


@pytest.mark.parametrize(
    ("encoding", "rate_hz", "audio_format"),
    [
        ("PCMU", 8_000, AudioFormat.PCMU),
        ("PCMA", 8_000, AudioFormat.PCMA),
        ("L16", 8_000, AudioFormat.PCM_8K),
        ("L16", 16_000, AudioFormat.PCM_16K),
        ("L16", 24_000, AudioFormat.PCM_24K),
    ],
)
def test_both_ways_have_the_codec_of_the_call(encoding, rate_hz, audio_format):
    serializer = TelnyxSerializer()
    found = serializer.decode(start(encoding, rate_hz))
    assert (found.input_format, found.output_format) == (audio_format, audio_format)
    sent = json.loads(serializer.media(np.zeros(rate_hz // 50, np.int16)))
    assert len(base64.b64decode(sent["media"]["payload"])) == rate_hz // 50 * audio_format.bytes_per_sample


def test_sound_keys_marks_and_the_stop_are_reported():
    serializer = started()
    assert serializer.decode(media(b"\xff\x7f", 7)) == Media(b"\xff\x7f", 7)
    assert serializer.decode(media(b"\xff", track="outbound")) is None
    assert serializer.decode(event("dtmf", dtmf={"digit": "#"})) == KeyPressed("#")
    assert serializer.decode(event("mark", mark={"name": "m1"})) == MarkPlayed("m1")
    assert isinstance(serializer.decode(event("stop", stop={"reason": "x"})), Stopped)
    assert serializer.decode(event("weather")) == Unknown("weather")


def test_an_error_is_reported_by_its_name_and_ends_nothing():
    reported = started().decode(event("error", payload={"code": 100002, "title": "unknown_error"}))
    assert isinstance(reported, LineError)
    assert "unknown_error" in reported.reported


def test_what_is_sent_has_no_stream_id():
    serializer = started()
    assert json.loads(serializer.media(np.zeros(160, np.int16))).keys() == {"event", "media"}
    assert json.loads(serializer.mark("7")) == {"event": "mark", "mark": {"name": "7"}}
    assert json.loads(serializer.clear()) == {"event": "clear"}
    assert serializer.hang_up() is None


@pytest.mark.parametrize(
    ("before", "message", "said"),
    [
        ("", start("OPUS", 48_000), "media_format is ('OPUS', 48000); allowed: ('PCMU', 8000)"),
        ("", start(call_control_id=""), "call_control_id is ''"),
        (start(), start(), "a second start came"),
        (start(), media(b"\xff", stream="other"), "stream_id is 'other'; allowed: the stream's own"),
    ],
)
def test_what_is_wrong_is_named(before, message, said):
    assert said in refusal(TelnyxSerializer(), message, before)
