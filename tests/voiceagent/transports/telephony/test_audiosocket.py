"""AudioSocket's serializer and its TCP end, with scripted calls.

https://docs.asterisk.org/Configuration/Channel-Drivers/AudioSocket
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from uuid import UUID

import numpy as np
import pytest
from refused_messages import refusal
from scripted_call import ScriptedCall
from websocket_waits import soon

from audio.pcm import AudioFormat
from voiceagent.session.call import CallRefused
from voiceagent.transports.reading_rounds import MANY, reading_of
from voiceagent.transports.telephony import audiosocket as audiosocket_module
from voiceagent.transports.telephony.audiosocket import (
    AudioSocketConfig,
    AudioSocketSerializer,
    audiosocket,
)
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    Media,
    Stopped,
    Unknown,
)
from voiceagent.validation.errors import CommandFailed

CALL = UUID("40325ec2-5efd-4bd3-805f-53576e581d13")
IDENTITY = b"\x01\x00\x10" + CALL.bytes
SOUND = b"\x10\x01\x40" + bytes(320)


def started() -> AudioSocketSerializer:
    serializer = AudioSocketSerializer()
    serializer.decode(IDENTITY)
    return serializer


def test_the_first_message_is_the_calls_uuid():
    found = AudioSocketSerializer().decode(IDENTITY)
    assert found.call_id == str(CALL)
    assert found.input_format is found.output_format is AudioFormat.PCM_8K


def test_sound_keys_and_the_hang_up_are_reported():
    serializer = started()
    assert serializer.decode(SOUND) == Media(bytes(320))
    assert serializer.decode(b"\x03\x00\x015") == KeyPressed("5")
    assert isinstance(serializer.decode(b"\x00\x00\x00"), Stopped)
    assert serializer.decode(b"\x42\x00\x00") == Unknown("0x42")


def test_the_agents_sound_and_the_hang_up_are_framed():
    serializer = started()
    assert serializer.media(np.zeros(160, np.int16)) == SOUND
    assert serializer.hang_up() == b"\x00\x00\x00"
    assert serializer.mark("7") is serializer.clear() is None


@pytest.mark.parametrize(
    ("before", "message", "said"),
    [
        (b"", b"\x01\x00\x02ab", "the UUID has 2 bytes; allowed: 16"),
        (IDENTITY, IDENTITY, "a second UUID came"),
        (IDENTITY, b"\x03\x00\x01x", "digit is 'X'"),
        (IDENTITY, b"\xff\x00\x01\x04", "Asterisk reports error 04"),
    ],
)
def test_what_is_wrong_is_named(before, message, said):
    assert said in refusal(AudioSocketSerializer(), message, before)


@asynccontextmanager
async def calling(refuse: bool = False):
    """A connection to a server of its own, and the calls that the server has opened."""
    calls: list[ScriptedCall] = []

    def open_call(call_id, client, model):
        if refuse:
            raise CallRefused("full")
        calls.append(ScriptedCall(call_id, client, model))
        return calls[-1]

    async with audiosocket(AudioSocketConfig(port=0), True, open_call) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        yield reader, writer, calls
        writer.close()


async def begun(writer, calls) -> ScriptedCall:
    writer.write(IDENTITY)
    while not calls or not calls[-1].requests:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    return calls[-1]


async def test_without_its_table_nothing_listens():
    async with audiosocket(None, True, None) as port:
        assert port is None


async def test_a_port_in_use_is_named():
    async with audiosocket(AudioSocketConfig(port=0), True, None) as port:
        with pytest.raises(CommandFailed, match=f"cannot listen for AudioSocket on 127.0.0.1:{port}"):
            async with audiosocket(AudioSocketConfig(port=port), True, None):
                pass


async def test_sound_goes_both_ways_in_pieces_of_any_length():
    async with calling() as (reader, writer, calls):
        call = await begun(writer, calls)
        assert call.settings.input_format is AudioFormat.PCM_8K
        for begin in range(0, len(SOUND), 100):
            writer.write(SOUND[begin : begin + 100])
            await asyncio.sleep(0.001)
        await soon(call.until(lambda call: bool(call.heard)))
        call.client.play("r1", np.zeros(160, np.int16))
        assert await soon(reader.readexactly(len(SOUND))) == SOUND


async def test_a_line_on_which_nobody_speaks_carries_silence_now_and_then(monkeypatch):
    """Asterisk ends a call in which neither side has sent anything for two seconds."""
    monkeypatch.setattr(audiosocket_module, "QUIET_S", 0.02)
    async with calling() as (reader, writer, calls):
        await begun(writer, calls)
        for _ in range(3):
            assert await soon(reader.readexactly(len(SOUND))) == SOUND


async def test_into_the_agents_voice_no_silence_is_put(monkeypatch):
    monkeypatch.setattr(audiosocket_module, "QUIET_S", 0.5)
    async with calling() as (reader, writer, calls):
        call = await begun(writer, calls)
        voice = np.full(160, 1_000, np.int16)
        for _ in range(60):
            call.client.play("r1", voice)
            await asyncio.sleep(0.02)
        sent = b"".join([await soon(reader.readexactly(len(SOUND))) for _ in range(60)])
        assert SOUND not in sent.removeprefix(SOUND)  # one may be before the first word


async def test_many_calls_are_read_together_each_to_its_end():
    calls = dict[str, ScriptedCall]()

    def open_call(call_id, client, model):
        calls[call_id] = ScriptedCall(call_id, client, model)
        return calls[call_id]

    async with audiosocket(AudioSocketConfig(port=0), True, open_call) as port:
        lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MANY + 1)]
        assert await soon(reading_begins(asyncio.get_running_loop()))
        for _, writer in lines:
            writer.write(IDENTITY)
            writer.write(SOUND[:100])
            writer.write(SOUND[100:])
        for call in calls.values():
            await soon(call.until(lambda call: bool(call.heard)))
        for _, writer in lines:
            writer.close()
        for call in calls.values():
            await soon(call.gone.wait())
            assert call.closed == "the client left"
    assert len(calls) == MANY + 1


async def reading_begins(loop) -> bool:
    while not reading_of(loop).gathered:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    return True


async def test_a_call_that_ends_on_the_server_is_hung_up():
    async with calling() as (reader, writer, calls):
        (await begun(writer, calls)).over.set()
        assert await soon(reader.read()) == b"\x00\x00\x00"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"\x00\x00\x00", "the caller hung up"),
        (b"\x03\x00\x01x", "digit is 'X'"),
        (b"\x12\x00\x02ab", "audio has the kind 0x12; allowed: 0x10"),
        (b"\xff\x00\x00", "error without a code"),
        (b"\xff\x00\x01\x02", "error 02"),
        (IDENTITY, "a second UUID"),
    ],
)
async def test_a_hang_up_or_bad_input_ends_the_call_with_a_reason(sent, said):
    async with calling() as (_, writer, calls):
        call = await begun(writer, calls)
        writer.write(sent)
        await soon(call.gone.wait())
        assert said in call.closed


async def test_a_connection_that_breaks_ends_the_call():
    async with calling() as (_, writer, calls):
        call = await begun(writer, calls)
        writer.transport.abort()
        await soon(call.gone.wait())
        assert call.closed == "the client left"


async def test_a_client_that_does_not_read_ends_the_call():
    async with calling() as (_, writer, calls):
        call = await begun(writer, calls)
        while not call.gone.is_set():
            for _number in range(1_000):
                call.client.play("r1", np.zeros(160, np.int16))
            await asyncio.sleep(0.01)
        assert call.closed == "the client does not read"


async def test_a_call_too_many_is_hung_up_at_once():
    async with calling(refuse=True) as (reader, _, _calls):
        assert await soon(reader.read()) == b"\x00\x00\x00"
