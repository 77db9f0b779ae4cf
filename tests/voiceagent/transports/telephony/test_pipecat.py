"""Pipecat speaks the same protocols: what a provider says means the same to both; so does what is sent."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import twilio_line

from audio.pcm import AudioFormat, decode, encode
from voiceagent.transports.telephony.plivo import PlivoSerializer
from voiceagent.transports.telephony.stream.serializer import KeyPressed, Media, Serializer
from voiceagent.transports.telephony.telnyx import TelnyxSerializer
from voiceagent.transports.telephony.twilio import TwilioSerializer
from voiceagent.transports.telephony.vonage import VonageSerializer

frames = pytest.importorskip("pipecat.frames.frames")
plivo = pytest.importorskip("pipecat.serializers.plivo")
telnyx = pytest.importorskip("pipecat.serializers.telnyx")
twilio = pytest.importorskip("pipecat.serializers.twilio")
vonage = pytest.importorskip("pipecat.serializers.vonage")

STREAM = "stream-1"
FRAME = (10_000 * np.sin(np.arange(160) / 5)).astype(np.int16)
PCMU = encode(FRAME, AudioFormat.PCMU)


def json_line(stream_field: str) -> dict[str, Any]:
    """Return a message of a provider like Twilio."""
    payload = base64.b64encode(PCMU).decode()
    content = {"track": "inbound", "chunk": "1", "timestamp": "5", "payload": payload}
    return {
        "media": json.dumps({"event": "media", stream_field: STREAM, "media": content}),
        "dtmf": json.dumps({"event": "dtmf", stream_field: STREAM, "dtmf": {"digit": "#"}}),
    }


def of_twilio() -> tuple[Serializer, Any, dict[str, Any]]:
    parameters = twilio.TwilioFrameSerializer.InputParams(auto_hang_up=False)
    serializer = TwilioSerializer()
    serializer.decode(twilio_line.start().replace(twilio_line.STREAM, STREAM))
    return serializer, twilio.TwilioFrameSerializer(STREAM, params=parameters), json_line("streamSid")


def of_telnyx() -> tuple[Serializer, Any, dict[str, Any]]:
    parameters = telnyx.TelnyxFrameSerializer.InputParams(auto_hang_up=False)
    serializer = TelnyxSerializer()
    media_format = {"encoding": "PCMU", "sample_rate": 8_000}
    start = {"call_control_id": "v2:1", "media_format": media_format}
    serializer.decode(json.dumps({"event": "start", "stream_id": STREAM, "start": start}))
    theirs = telnyx.TelnyxFrameSerializer(STREAM, "PCMU", "PCMU", params=parameters)
    return serializer, theirs, json_line("stream_id")


def of_plivo() -> tuple[Serializer, Any, dict[str, Any]]:
    parameters = plivo.PlivoFrameSerializer.InputParams(auto_hang_up=False)
    serializer = PlivoSerializer()
    media_format = {"encoding": "audio/x-mulaw", "sampleRate": 8_000}
    start = {"callId": "c1", "streamId": STREAM, "accountId": "MA1", "mediaFormat": media_format}
    serializer.decode(json.dumps({"event": "start", "start": start}))
    return serializer, plivo.PlivoFrameSerializer(STREAM, params=parameters), json_line("streamId")


def of_vonage() -> tuple[Serializer, Any, dict[str, Any]]:
    parameters = vonage.VonageFrameSerializer.InputParams(vonage_sample_rate=8_000)
    serializer = VonageSerializer()
    serializer.decode('{"event":"websocket:connected","content-type":"audio/l16;rate=8000"}')
    said = {"media": FRAME.tobytes(), "dtmf": '{"event":"websocket:dtmf","digit":"#"}'}
    return serializer, vonage.VonageFrameSerializer(parameters), said


@pytest.fixture(params=[of_twilio, of_telnyx, of_plivo, of_vonage], ids=lambda make: make.__name__)
async def sides(request: pytest.FixtureRequest) -> tuple[Serializer, Any, dict[str, Any]]:
    """Our serializer, Pipecat's serializer, and what the provider says."""
    serializer, theirs, said = request.param()
    await theirs.setup(SimpleNamespace(audio_in_sample_rate=8_000, audio_out_sample_rate=8_000))
    return serializer, theirs, said


def as_data(message: str | bytes) -> Any:
    return message if isinstance(message, bytes) else json.loads(message)


async def test_the_callers_sound_is_heard_alike(sides):
    serializer, theirs, said = sides
    ours = serializer.decode(said["media"])
    assert isinstance(ours, Media)
    audio_format = AudioFormat.PCM_8K if isinstance(serializer, VonageSerializer) else AudioFormat.PCMU
    heard = await theirs.deserialize(said["media"])
    assert decode(ours.payload, audio_format).tobytes() == heard.audio


async def test_a_key_is_read_alike(sides):
    serializer, theirs, said = sides
    ours = serializer.decode(said["dtmf"])
    assert isinstance(ours, KeyPressed)
    assert (await theirs.deserialize(said["dtmf"])).button.value == ours.digit


async def test_the_agents_sound_goes_out_alike(sides):
    serializer, theirs, _ = sides
    frame = frames.OutputAudioRawFrame(FRAME.tobytes(), 8_000, 1)
    assert as_data(serializer.media(FRAME)) == as_data(await theirs.serialize(frame))


async def test_an_interruption_clears_alike(sides):
    serializer, theirs, _ = sides
    assert as_data(serializer.clear()) == as_data(await theirs.serialize(frames.InterruptionFrame()))
