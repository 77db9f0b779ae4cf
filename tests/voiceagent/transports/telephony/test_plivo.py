"""Plivo's serializer, against the messages of its documentation.

https://www.plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-guide
"""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from refused_messages import refusal

from audio.pcm import AudioFormat
from voiceagent.transports.telephony.plivo import PlivoSerializer
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    MarkPlayed,
    Media,
    Started,
    Unknown,
)

STREAM = "20170ada-f610-433b-8758-c02a2aab3662"
CALL = "12345678-1234-1234-1234-123456789abc"


def start(encoding: str = "audio/x-mulaw", rate_hz: int = 8_000, headers: object = "", **changes) -> str:
    fields = {
        "callId": CALL,
        "streamId": STREAM,
        "accountId": "MAXXXXXXXXXXXXXXXXXX",
        "tracks": ["inbound"],
        "mediaFormat": {"encoding": encoding, "sampleRate": rate_hz},
        **changes,
    }
    return json.dumps({"event": "start", "sequenceNumber": 1, "start": fields, "extra_headers": headers})


def event(kind: str, stream: str = STREAM, **fields) -> str:
    return json.dumps({"event": kind, "sequenceNumber": 4, "streamId": stream, **fields})


def media(sound: bytes, chunk: int = 2, track: str = "inbound", stream: str = STREAM) -> str:
    payload = base64.b64encode(sound).decode()
    return event(
        "media", stream, media={"track": track, "chunk": chunk, "timestamp": "5", "payload": payload}
    )


def started(**options) -> PlivoSerializer:
    serializer = PlivoSerializer()
    serializer.decode(start(**options))
    return serializer


@pytest.mark.parametrize(
    "headers", ["userId=12345;sessionId=abc-xyz", {"userId": "12345", "sessionId": "abc-xyz"}]
)
def test_start_tells_the_call_its_account_and_the_extra_headers(headers):
    found = PlivoSerializer().decode(start(headers=headers))
    assert found == Started(
        CALL,
        AudioFormat.PCMU,
        AudioFormat.PCMU,
        "MAXXXXXXXXXXXXXXXXXX",
        {"userId": "12345", "sessionId": "abc-xyz"},
        frame_s=0.06,
    )


@pytest.mark.parametrize(
    ("encoding", "rate_hz", "audio_format"),
    [
        ("audio/x-mulaw", 8_000, AudioFormat.PCMU),
        ("audio/x-l16", 8_000, AudioFormat.PCM_8K),
        ("audio/x-l16", 16_000, AudioFormat.PCM_16K),
    ],
)
def test_the_agents_sound_goes_out_as_the_callers_comes_in(encoding, rate_hz, audio_format):
    serializer = PlivoSerializer()
    assert serializer.decode(start(encoding, rate_hz)).input_format is audio_format
    sent = json.loads(serializer.media(np.zeros(rate_hz // 50, np.int16)))
    assert (sent["event"], sent["streamId"]) == ("playAudio", STREAM)
    assert (sent["media"]["contentType"], sent["media"]["sampleRate"]) == (encoding, rate_hz)
    assert len(base64.b64decode(sent["media"]["payload"])) == rate_hz // 50 * audio_format.bytes_per_sample


def test_sound_keys_and_checkpoints_are_reported():
    serializer = started()
    assert serializer.decode(media(b"\xff\x7f", 7)) == Media(b"\xff\x7f", 7)
    assert serializer.decode(media(b"\xff", track="outbound")) is None
    assert serializer.decode(event("dtmf", dtmf={"track": "inbound", "digit": "1"})) == KeyPressed("1")
    played = event("playedStream", name="customer greeting audio")
    assert serializer.decode(played) == MarkPlayed("customer greeting audio")
    assert serializer.decode(event("clearedAudio")) is None
    assert serializer.decode(event("weather")) == Unknown("weather")


def test_checkpoints_and_clearing_carry_the_stream():
    serializer = started()
    checkpoint = {"event": "checkpoint", "streamId": STREAM, "name": "customer greeting audio"}
    assert json.loads(serializer.mark("customer greeting audio")) == checkpoint
    assert json.loads(serializer.clear()) == {"event": "clearAudio", "streamId": STREAM}
    assert serializer.hang_up() is None


@pytest.mark.parametrize(
    ("before", "message", "said"),
    [
        ("", start("audio/opus"), "mediaFormat is ('audio/opus', 8000); allowed: ('audio/x-mulaw', 8000)"),
        ("", start(headers=7), "extra_headers is 7"),
        (start(), start(), "a second start came"),
        (start(), media(b"\xff", stream="other"), "streamId is 'other'; allowed: the stream's own"),
    ],
)
def test_what_is_wrong_is_named(before, message, said):
    assert said in refusal(PlivoSerializer(), message, before)
