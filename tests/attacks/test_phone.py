"""Messages on phone lines that do not belong to a phone call."""

from __future__ import annotations

import asyncio
import json

import pytest
from attacked_server import LINES, AttackedServer
from phone_lines import Asterisk, Plivo, Provider, Telnyx, Twilio, Vonage
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the second caller goes on during a test

PROVIDERS: dict[str, type[Provider]] = {
    "twilio": Twilio,
    "telnyx": Telnyx,
    "plivo": Plivo,
    "vonage": Vonage,
    "asterisk": Asterisk,
}


async def over(connection: ClientConnection) -> int | None:
    """The close code, once the server has ended the call."""
    with pytest.raises(ConnectionClosed):
        async with asyncio.timeout(30):
            while True:
                await connection.recv()
    return connection.close_code


@pytest.mark.parametrize("name", LINES)
async def test_a_call_that_sends_nothing_after_its_start_is_ended(server: AttackedServer, name: str):
    async with server.call(f"/telephony/{name}") as connection:
        for message in PROVIDERS[name]().start():
            await connection.send(message)
        assert await over(connection) == 1000


async def test_an_audiosocket_that_sends_nothing_is_ended(server: AttackedServer):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.audiosocket)
    writer.write(b"\x01\x00\x10" + bytes(16))
    async with asyncio.timeout(30):
        while await reader.read(65_536):
            pass
    writer.close()


async def test_keys_without_end_end_the_call(server: AttackedServer):
    twilio = Twilio()
    async with server.call("/telephony/twilio") as connection:
        for message in twilio.start():
            await connection.send(message)
        for _ in range(1_001):
            await connection.send(twilio.key("1"))
        assert await over(connection) == 1002


async def test_unknown_events_without_end_end_the_call(server: AttackedServer):
    async with server.call("/telephony/twilio") as connection:
        for message in Twilio().start():
            await connection.send(message)
        for number in range(100):
            await connection.send(json.dumps({"event": f"unknown_{number}", "x": "a" * 1_000}))
        assert await over(connection) == 1002


async def test_parameters_of_a_stream_that_are_too_long_end_the_call(server: AttackedServer):
    start = json.loads(Twilio().start()[1])
    assert isinstance(start, dict)
    start["start"]["customParameters"] = {f"name_{number}": "a" * 1_000 for number in range(1_000)}
    async with server.call("/telephony/twilio") as connection:
        await connection.send(json.dumps(start))
        assert await over(connection) in (1002, 1009)


async def test_ids_of_any_length_leave_the_log_short(server: AttackedServer):
    start = json.loads(Twilio().start()[1])
    assert isinstance(start, dict)
    start["start"]["callSid"] = "C" * 200_000
    for _ in range(3):
        async with server.call("/telephony/twilio") as connection:
            await connection.send(json.dumps(start))
            await connection.send(Twilio().key("1"))
            await connection.send(json.dumps(start))  # a second start ends the call
            assert await over(connection) == 1002


async def test_sound_of_any_length_is_taken_or_refused(server: AttackedServer):
    for sound in (b"", b"\x00", bytes(100_000), bytes(999_999)):
        async with server.call("/telephony/vonage") as connection:
            for message in Vonage().start():
                await connection.send(message)
            await connection.send(sound)
            await connection.send(sound)
