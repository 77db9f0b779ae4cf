"""Plain messages with sound mean what they mean to pydantic, to which all others are left."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.telephony.stream import json_stream
from voiceagent.transports.telephony.stream.json_stream import JsonStream, plain_media
from voiceagent.transports.telephony.stream.serializer import Media, ProtocolError
from voiceagent.transports.telephony.twilio import TwilioSerializer

STREAM = "MZ1"
MEDIA_FORMAT = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
START = {"streamSid": STREAM, "accountSid": "AC1", "callSid": "CA1", "mediaFormat": MEDIA_FORMAT}
NUMBERS = st.one_of(
    st.integers(-2, 10**20), st.integers(-2, 10**20).map(str), st.text(max_size=3), st.none(), st.just("²")
)
PAYLOADS = st.one_of(
    st.binary(max_size=20).map(lambda sound: b64encode(sound).decode()), st.text(max_size=8), st.none()
)


def media(payload: object = "AAAA", chunk: object = "1", stream: object = STREAM, **more: object) -> str:
    content = {"track": "inbound", "chunk": chunk, "timestamp": "5", "payload": payload, **more}
    return json.dumps({"event": "media", "sequenceNumber": "4", "media": content, "streamSid": stream})


def started() -> TwilioSerializer:
    stream = TwilioSerializer()
    stream.decode(json.dumps({"event": "start", "start": START, "streamSid": STREAM}))
    return stream


def outcome(stream: JsonStream, message: str) -> object:
    try:
        return stream.decode(message)
    except ProtocolError as error:
        return str(error)


@given(
    PAYLOADS,
    NUMBERS,
    st.sampled_from([STREAM, "MZ2", "", None, 1]),
    st.sampled_from(["inbound", "outbound", "", None, 1]),
)
def test_every_message_with_sound_means_what_it_means_to_pydantic(
    payload: object, chunk: object, stream: object, track: object
) -> None:
    message = media(payload, chunk, stream, track=track)
    with patch.object(json_stream, "plain_media", lambda *_: None):
        expected = outcome(started(), message)
    assert outcome(started(), message) == expected


def test_a_plain_message_is_read() -> None:
    assert plain_media(media(), "streamSid", STREAM) == Media(b"\0\0\0", 1)


def test_fields_may_come_in_any_order_and_the_track_may_be_missing() -> None:
    message = '{"media":{"payload":"AAAA","chunk":"2"},"streamSid":"MZ1","event":"media"}'
    assert plain_media(message, "streamSid", STREAM) == Media(b"\0\0\0", 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda message: message.encode(),
        lambda message: message + "}",
        lambda message: message.replace("media", "mark", 1),
        lambda message: message.replace("AAAA", ""),
        lambda message: message.replace("AAAA", "AA A"),
        lambda message: message.replace('"1"', "1"),
        lambda message: message.replace("inbound", "outbound"),
        lambda message: message.replace(STREAM, "MZ2"),
    ],
)
def test_any_other_message_is_left_to_pydantic(change: Callable[[str], str | bytes]) -> None:
    assert plain_media(change(media()), "streamSid", STREAM) is None
