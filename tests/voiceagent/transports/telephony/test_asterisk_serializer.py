"""The serializer of Asterisk's chan_websocket, against the messages of its documentation.

https://docs.asterisk.org/Configuration/Channel-Drivers/WebSocket
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from refused_messages import refusal

from audio.pcm import AudioFormat
from voiceagent.transports.telephony.asterisk import FORMATS, AsteriskSerializer
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    MarkPlayed,
    Media,
    Unknown,
)

PLAIN_START = (
    "MEDIA_START connection_id:e226e283-c90a-4ea9-9e37-389000b9ef47 channel:WebSocket/connectionid "
    "channel_id:pbx1-123456789.999 format:ulaw optimal_frame_size:160 ptime:20"
)


def json_start(audio_format: str = "ulaw") -> str:
    return json.dumps(
        {
            "event": "MEDIA_START",
            "connection_id": "e226e283-c90a-4ea9-9e37-389000b9ef47",
            "channel": "WebSocket/connectionid",
            "channel_id": "pbx1-123456789.999",
            "format": audio_format,
            "optimal_frame_size": 160,
            "ptime": 20,
            "channel_variables": {"SOME_CHANNEL_VARIABLE": "some value"},
        },
        indent=4,
    )


def started(start: str) -> AsteriskSerializer:
    serializer = AsteriskSerializer()
    serializer.decode(start)
    return serializer


@pytest.mark.parametrize("start", [PLAIN_START, json_start()])
def test_the_start_tells_channel_and_format(start):
    found = AsteriskSerializer().decode(start)
    assert found.call_id == "WebSocket/connectionid"
    assert found.input_format is found.output_format is AudioFormat.PCMU


@pytest.mark.parametrize("name", FORMATS)
def test_twenty_milliseconds_are_whole_frames_in_every_format(name):
    serializer = AsteriskSerializer()
    audio_format = serializer.decode(json_start(name)).input_format
    frame = serializer.media(np.zeros(audio_format.rate_hz // 50, np.int16))
    assert len(frame) == audio_format.rate_hz // 50 * audio_format.bytes_per_sample
    assert serializer.decode(frame) == Media(frame)


def test_keys_and_marks_are_reported_and_the_queues_state_is_not_minded():
    plain, spoken = started(PLAIN_START), started(json_start())
    assert plain.decode("DTMF_END digit:5") == KeyPressed("5")
    assert spoken.decode('{"event":"DTMF_END","channel_id":"c","digit":"5"}') == KeyPressed("5")
    assert spoken.decode('{"event":"MEDIA_MARK_PROCESSED","correlation_id":"7"}') == MarkPlayed("7")
    for event in ("MEDIA_XOFF", "MEDIA_XON", "QUEUE_DRAINED", "MEDIA_BUFFERING_COMPLETED 61ea9311"):
        assert plain.decode(event) is None
    assert plain.decode("WEATHER fine") == Unknown("WEATHER")


def test_commands_are_json_where_the_events_are():
    serializer = started(json_start())
    assert json.loads(serializer.clear()) == {"command": "FLUSH_MEDIA"}
    assert json.loads(serializer.hang_up()) == {"command": "HANGUP"}
    assert json.loads(serializer.mark("7")) == {"command": "MARK_MEDIA", "correlation_id": "7"}


def test_commands_are_plain_where_the_events_are_which_have_no_marks():
    serializer = started(PLAIN_START)
    assert (serializer.clear(), serializer.hang_up(), serializer.mark("7")) == ("FLUSH_MEDIA", "HANGUP", None)


@pytest.mark.parametrize(
    ("before", "message", "said"),
    [
        ("", json_start("opus"), "format is 'opus'; allowed: 'ulaw', 'alaw', 'slin', 'slin16' or 'slin24'"),
        ("", "MEDIA_START format:ulaw", "channel is missing; it must be there"),
        (PLAIN_START, PLAIN_START, "a second MEDIA_START came"),
        (PLAIN_START, "DTMF_END digit:55", "digit is '55'"),
        (PLAIN_START, "{", "not JSON"),
    ],
)
def test_what_is_wrong_is_named(before, message, said):
    assert said in refusal(AsteriskSerializer(), message, before)
