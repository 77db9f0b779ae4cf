"""Messages that a provider sends before it identifies the call do not end the connection."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from phone_lines import Asterisk, AudioSocket, Plivo, Provider, Telnyx, Twilio, Vonage
from phone_server import phone_server
from websockets.asyncio.client import connect

from voiceagent.transports.telephony.asterisk import AsteriskSerializer
from voiceagent.transports.telephony.audiosocket import AudioSocketSerializer
from voiceagent.transports.telephony.plivo import PlivoSerializer
from voiceagent.transports.telephony.stream.serializer import Media, Serializer, Started
from voiceagent.transports.telephony.telnyx import TelnyxSerializer
from voiceagent.transports.telephony.twilio import TwilioSerializer
from voiceagent.transports.telephony.vonage import VonageSerializer

FRAME = np.full(160, 1_000, np.int16)
LINES = [
    (Twilio, TwilioSerializer),
    (Telnyx, TelnyxSerializer),
    (Plivo, PlivoSerializer),
    (Vonage, VonageSerializer),
    (Asterisk, AsteriskSerializer),
    (AudioSocket, AudioSocketSerializer),
]


@pytest.mark.parametrize(("line", "serializer"), LINES[:-1])
def test_a_binary_message_before_the_start_is_dropped(
    line: type[Provider], serializer: type[Serializer]
) -> None:
    read = serializer()
    assert read.decode(bytes(160)) is None
    assert any(isinstance(read.decode(message), Started) for message in line().start())


@pytest.mark.parametrize(("line", "serializer"), LINES)
def test_a_message_with_no_sound_in_it_is_no_sound(
    line: type[Provider], serializer: type[Serializer]
) -> None:
    provider, read = line(), serializer()
    for message in provider.start():
        read.decode(message)
    assert read.decode(provider.sound(FRAME[:0], 1)) in (Media(b"", 1), Media(b""))


@pytest.mark.parametrize(("line", "serializer"), LINES)
def test_sound_and_keys_before_the_start_are_dropped(
    line: type[Provider], serializer: type[Serializer]
) -> None:
    provider, read = line(), serializer()
    early = [provider.sound(FRAME, 1), provider.key("5"), provider.sound(FRAME, 2)]
    assert [read.decode(message) for message in early] == [None] * 3
    assert any(isinstance(read.decode(message), Started) for message in provider.start())
    assert isinstance(read.decode(provider.sound(FRAME, 3)), Media)


async def test_a_frame_before_media_start_does_not_hang_up() -> None:
    provider = Asterisk()
    async with (
        phone_server({"asterisk": {}}) as server,
        connect(server.url("asterisk")) as websocket,
        asyncio.timeout(10),
    ):
        await websocket.send(provider.sound(FRAME, 1))
        for message in provider.start():
            await websocket.send(message)
        await server.call.until(lambda call: bool(call.requests))
        await websocket.send(provider.sound(FRAME, 2))
        await server.call.until(lambda call: len(call.heard) == 1)
