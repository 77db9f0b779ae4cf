from __future__ import annotations

import json

import numpy as np
import pytest
from call_settings import call_settings, turn_detection
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from audio.pcm import AudioFormat, encode
from voiceagent.bench.wires import (
    TEXT,
    Cleared,
    FrameReader,
    Mark,
    RealtimeWire,
    Refused,
    SpeechStopped,
    TwilioWire,
    websocket_frame,
)
from voiceagent.conversation import notifications as notify
from voiceagent.transports.realtime.protocol.decode import AudioAppended, Decoder
from voiceagent.transports.realtime.protocol.encode import Encoder
from voiceagent.transports.telephony.stream.serializer import MarkPlayed, Media, Started
from voiceagent.transports.telephony.twilio import TwilioSerializer

STARTED = notify.NotifyResponseStarted("resp_1", "audio")
SOUND = np.arange(480, dtype=np.int16)


def parsed(data: bytes) -> Frame:
    """Return the frame as our server's library parses it."""
    reader = StreamReader()
    reader.feed_data(data)
    parser = Frame.parse(reader.read_exact, mask=True)
    with pytest.raises(StopIteration) as done:
        next(parser)
    frame: Frame = done.value.value
    return frame


@pytest.mark.parametrize("length", [0, 125, 126, 65_535, 65_536])
def test_a_frame_of_any_length_is_read_as_it_was_written(length):
    frame = parsed(websocket_frame(TEXT, b"x" * length))
    assert frame.opcode is Opcode.TEXT and bytes(frame.data) == b"x" * length


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 50))
def test_frames_of_a_server_are_put_together_however_they_are_cut(payloads, cut):
    sent = b"".join(Frame(Opcode.TEXT, payload).serialize(mask=False) for payload in payloads)
    reader = FrameReader()
    pieces = [sent[start : start + cut] for start in range(0, len(sent), cut)]
    assert [frame for piece in pieces for frame in reader.feed(piece)] == [(TEXT, data) for data in payloads]


def test_the_server_understands_a_frame_of_sound():
    message = parsed(RealtimeWire(0.0).frame(SOUND)).data
    appended = Decoder(call_settings(), "{}_1".format).decode(bytes(message), call_settings())
    assert isinstance(appended, AudioAppended) and np.array_equal(appended.samples, SOUND)


def sent_by_the_server(*notifications: notify.Notification, wire: RealtimeWire) -> list[object]:
    """Return the fields of a server's events that a caller uses."""
    encoder = Encoder("sess_1", "conv_1")
    events = [event for notification in notifications for event in encoder.encode(notification)]
    messages = [json.dumps(event, separators=(",", ":")).encode() for event in events]
    assert not any(wire.is_sound(message) for message in messages)
    return [notification for notification in map(wire.notification, messages) if notification is not None]


def test_the_agents_sound_is_distinguished_from_what_else_it_sends():
    encoder, wire = Encoder("sess_1", "conv_1"), RealtimeWire(0.0)
    for notification in (STARTED, notify.NotifyResponseText("resp_1", "item_2", "item_1", "Hello.")):
        encoder.encode(notification)
    message = encoder.encode_audio("resp_1", SOUND)
    assert message is not None and wire.is_sound(message.encode())
    assert np.array_equal(wire.sound(message.encode()), SOUND)


def test_a_cancelled_response_was_cleared_and_a_completed_one_was_not():
    wire = RealtimeWire(0.0)
    cancelled = notify.NotifyResponseEnded("resp_1", "cancelled", "turn_detected")
    assert sent_by_the_server(STARTED, cancelled, wire=wire) == [Cleared()]
    assert sent_by_the_server(STARTED, notify.NotifyResponseEnded("resp_1", "completed"), wire=wire) == []


def test_the_end_of_speech_is_without_the_protocols_silence():
    stopped = notify.NotifySpeechStopped("item_1", 2.0)
    settings, detection = notify.NotifySettings(call_settings(), created=True), turn_detection()
    assert detection.kind == "server_vad"
    wire = RealtimeWire(detection.silence_s)
    assert sent_by_the_server(settings, stopped, wire=wire) == [SpeechStopped(2.0)]


def test_an_error_is_reported():
    assert sent_by_the_server(notify.NotifyError("code", "Why."), wire=RealtimeWire(0.0)) == [Refused("Why.")]


# ---- Twilio


def twilio_message(frame: bytes) -> str:
    return bytes(parsed(frame).data).decode()


def in_a_twilio_call() -> tuple[TwilioWire, TwilioSerializer]:
    """Both sides of a call that has begun."""
    wire, serializer = TwilioWire(), TwilioSerializer()
    connected, started = (serializer.decode(twilio_message(frame)) for frame in wire.greeting())
    assert connected is None and isinstance(started, Started)
    return wire, serializer


def test_twilios_sound_is_counted_and_understood():
    wire, serializer = in_a_twilio_call()
    part = wire.frame(SOUND[:160])
    for number in (1, 2, 117):
        media = serializer.decode(twilio_message(wire.numbered(part, number)))
        assert isinstance(media, Media) and media.number == number
        assert media.payload == encode(SOUND[:160], AudioFormat.PCMU)


def test_twilios_caller_hears_and_answers_marks():
    wire, serializer = in_a_twilio_call()
    message = serializer.media(SOUND[:160]).encode()
    assert wire.is_sound(message)
    assert len(wire.sound(message)) == 160
    for samples in (158, 159, 160, 320):
        message = serializer.media(SOUND[:samples])
        assert wire.seconds(message.encode()) == samples / 8_000
        assert wire.seconds(message.replace('":', '": ').encode()) == samples / 8_000
    mark = wire.notification(serializer.mark("here").encode())
    assert isinstance(mark, Mark)
    assert serializer.decode(twilio_message(mark.answer)) == MarkPlayed("here")
    assert wire.notification(serializer.clear().encode()) == Cleared()
