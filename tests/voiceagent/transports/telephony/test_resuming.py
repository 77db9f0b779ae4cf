"""Phone calls whose stream is lost, and whose provider opens another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import phone_lines
import pytest
import twilio_line
from phone_lines import Command
from phone_server import PhoneServer, phone_server
from scripted_call import ScriptedCall
from simulated_carriers import ENVIRONMENT, PLACING, Asterisk, Plivo, SimulatedCarrier, Twilio
from websocket_waits import soon
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from voiceagent.transports.telephony.phone_client import PhoneClient
from voiceagent.transports.telephony.resuming import PhoneStream
from voiceagent.transports.telephony.twilio import TwilioSerializer

each_carrier = pytest.mark.parametrize("carrier", PLACING, ids=lambda carrier: carrier.name)


class Phone:
    """A provider's end of the calls of one number. name: of the call in the stream's URL."""

    def __init__(self, server: PhoneServer, carrier: type[SimulatedCarrier]) -> None:
        self.server = server
        self.carrier = carrier()
        self.line = carrier.line()

    @asynccontextmanager
    async def stream(self, name: str = "c1") -> AsyncIterator[ClientConnection]:
        """A stream of a call that has sent its start."""
        url = self.server.url(self.carrier.name)
        # all connections of Asterisk have one path
        url += f"?line_call={name}" if self.carrier.name == "asterisk" else f"/calls/{name}"
        headers = self.carrier.handshake(url)
        async with connect(url, additional_headers=headers, proxy=None) as websocket:
            for message in self.line.start():
                await websocket.send(message)
            yield websocket

    async def say(self, websocket: ClientConnection) -> None:
        """Send a frame of the caller's audio, and wait until the call has it."""
        heard = len(self.server.call.heard)
        await websocket.send(self.line.sound(np.zeros(self.line.format.rate_hz // 50, np.int16), 1))
        await soon(self.server.call.until(lambda call: len(call.heard) > heard))

    def speak(self, frames: int = 1) -> None:
        """Let the agent say something."""
        call = self.server.call
        for _ in range(frames):
            call.client.play("resp_1", np.zeros(call.settings.output_format.rate_hz // 50, np.int16))

    async def commands(self, websocket: ClientConnection, count: int) -> list[Command]:
        """Return the next commands of the server."""
        return [self.line.read(await soon(websocket.recv())) for _ in range(count)]

    async def lose(self, websocket: ClientConnection) -> None:
        """Cut the connection, and wait until the server has noticed."""
        websocket.transport.abort()
        await soon(self.server.call.until(lambda call: call.pauses[-1:] == [True]))


@asynccontextmanager
async def phone(carrier: type[SimulatedCarrier]) -> AsyncIterator[Phone]:
    async with phone_server({carrier.name: carrier().table()}, ENVIRONMENT) as server:
        yield Phone(server, carrier)


@each_carrier
async def test_another_stream_of_a_call_continues_it(carrier: type[SimulatedCarrier]) -> None:
    async with phone(carrier) as line:
        async with line.stream() as lost:
            await line.say(lost)
            await line.lose(lost)
        assert line.server.call.closed is None
        async with line.stream() as again:
            await soon(line.server.call.until(lambda call: call.pauses == [True, False]))
            await line.say(again)
            line.speak()
            assert (await line.commands(again, 1))[0].kind == "sound"
        assert len(line.server.calls) == 1


@each_carrier
async def test_audio_that_was_not_played_is_sent_again_to_the_new_stream(
    carrier: type[SimulatedCarrier],
) -> None:
    async with phone(carrier) as line:
        async with line.stream() as lost:
            await line.say(lost)
            line.speak(frames=9)
            sent = await line.commands(lost, 11)
            marks = [command.name for command in sent if command.kind == "mark"]
            assert [command.kind for command in sent].index("mark") == 1
            await lost.send(line.line.played(marks[0]))
            await soon(line.server.call.until(lambda call: len(call.reports) == 1))
            await line.lose(lost)
        async with line.stream() as again:
            assert await line.commands(again, 9) == sent[2:]
            await again.send(line.line.played(marks[1]))
            await soon(line.server.call.until(lambda call: len(call.reports) == 2))


async def test_audio_that_an_interruption_dropped_is_not_sent_again() -> None:
    async with phone(Twilio) as line:
        async with line.stream() as lost:
            await line.say(lost)
            line.speak(frames=9)
            await line.commands(lost, 11)
            line.server.call.client.clear()
            await line.lose(lost)
        async with line.stream() as again:
            await soon(line.server.call.until(lambda call: call.pauses == [True, False]))
            line.server.call.client.clear()
            assert (await line.commands(again, 1))[0].kind == "clear"


async def test_messages_made_for_the_lost_stream_do_not_reach_the_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with phone(Twilio) as line:
        async with line.stream() as lost:
            await line.say(lost)
            await line.lose(lost)
        line.server.call.client.clear()
        monkeypatch.setattr(twilio_line, "STREAM", "MZ2")  # `read` asserts on it
        async with line.stream() as again:
            await soon(line.server.call.until(lambda call: call.pauses == [True, False]))
            line.speak()
            assert [command.kind for command in await line.commands(again, 2)] == ["sound", "mark"]


async def test_a_new_stream_counts_although_the_loss_of_the_former_was_not_noticed() -> None:
    async with phone(Twilio) as line, line.stream() as former:
        await line.say(former)
        async with line.stream() as again:
            await line.say(again)
            with pytest.raises(ConnectionClosed):
                await soon(former.recv())
            assert line.server.call.pauses == [True, False]
            assert len(line.server.calls) == 1


async def test_the_caller_can_hang_up_on_the_new_stream() -> None:
    async with phone(Twilio) as line:
        async with line.stream() as lost:
            await line.say(lost)
            await line.lose(lost)
        async with line.stream() as again:
            await line.say(again)
            await again.send(twilio_line.stop())
            await soon(line.server.call.gone.wait())


async def test_a_call_that_was_hung_up_is_not_continued() -> None:
    async with phone(Twilio) as line:
        async with line.stream() as over:
            await line.say(over)
            await over.send(twilio_line.stop())
            await soon(line.server.call.gone.wait())
        async with line.stream() as other:
            await soon(line.server.call.until(lambda call: bool(call.requests)))
            await line.say(other)
        assert len(line.server.calls) == 2


async def test_another_call_is_not_continued() -> None:
    async with phone(Twilio) as line, line.stream() as first, line.stream("c2"):
        while len(line.server.calls) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert line.server.calls[0].pauses == []
        assert first.close_code is None


async def test_a_stream_of_another_format_is_refused_and_the_call_waits_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with phone(Plivo) as line:
        async with line.stream() as lost:
            await line.say(lost)
            await line.lose(lost)
        narrow = line.line.start()[0].replace("16000", "8000")
        with monkeypatch.context() as patched:
            patched.setattr(line.line, "start", lambda: [narrow])
            async with line.stream() as other:
                with pytest.raises(ConnectionClosed) as closed:
                    await soon(other.recv())
                assert closed.value.rcvd is not None
                assert (closed.value.rcvd.code, "PCM_16K" in closed.value.rcvd.reason) == (1002, True)
        async with line.stream() as again:
            await line.say(again)
        assert len(line.server.calls) == 1


@each_carrier
async def test_a_stranger_takes_no_call_over(carrier: type[SimulatedCarrier]) -> None:
    async with phone(carrier) as line:
        async with line.stream() as lost:
            await line.say(lost)
            await line.lose(lost)
        url = line.server.url(carrier.name)
        url += "?line_call=c1" if carrier is Asterisk else "/calls/c1"
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, proxy=None)
        assert refused.value.response.status_code == 403
        assert line.server.call.pauses == [True]


@pytest.mark.parametrize("carrier", [Twilio, Plivo], ids=lambda carrier: carrier.name)
async def test_the_signature_of_one_calls_stream_opens_no_other(carrier: type[SimulatedCarrier]) -> None:
    async with phone(carrier) as line, line.stream() as running:
        await line.say(running)
        url = line.server.url(carrier.name)
        with pytest.raises(InvalidStatus) as refused:
            signed = line.carrier.handshake(f"{url}/calls/c2")
            await connect(f"{url}/calls/c1", additional_headers=signed, proxy=None)
        assert refused.value.response.status_code == 403


async def test_a_line_without_a_key_continues_no_call() -> None:
    async with phone_server({"vonage": {}}) as server:
        url = f"{server.url('vonage')}?line_call=c1"
        for count in (1, 2):
            async with connect(url, proxy=None) as websocket:
                await websocket.send(phone_lines.Vonage().start()[0])
                await soon(server.call.until(lambda call: bool(call.requests)))
                assert len(server.calls) == count
                websocket.transport.abort()
                await soon(server.call.gone.wait())


async def test_the_agents_end_of_a_lost_call_ends_it() -> None:
    async with phone(Asterisk) as line:
        async with line.stream() as lost:
            await line.say(lost)
            await line.lose(lost)
        line.server.call.hung_up = "bye"
        line.server.call.over.set()
        await soon(line.server.call.gone.wait())
        async with line.stream():
            while len(line.server.calls) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.005)


def test_messages_that_wait_for_the_lost_stream_are_dropped_with_it() -> None:
    client = PhoneClient("call", started(TwilioSerializer()))
    client.play("resp_1", np.zeros(160, np.int16))
    client.fill(np.zeros(160, np.int16))
    again = client.use_stream(started(TwilioSerializer()))
    assert (again, len(client.outbox)) == (1, 2), "the frame of the response, and its mark"


def started(serializer: TwilioSerializer) -> TwilioSerializer:
    serializer.decode(twilio_line.start())
    return serializer


class FakeWire:
    """A stream whose messages come from a queue."""

    paces = True

    def __init__(self) -> None:
        self.sent: list[str | bytes] = []
        self.messages: asyncio.Queue[str | bytes] = asyncio.Queue()

    async def open(self) -> None: ...

    async def receive(self) -> str | bytes:
        return await self.messages.get()

    async def send(self, message: str | bytes) -> None:
        self.sent.append(message)

    def open_fast_path(self, take: object) -> None: ...

    def close_fast_path(self) -> None: ...

    async def close(self, code: int, reason: str) -> None: ...


async def test_nothing_is_sent_to_a_new_stream_before_its_start() -> None:
    call = ScriptedCall("call", PhoneClient("call", TwilioSerializer()), "")
    stream, again = PhoneStream(FakeWire(), call, TwilioSerializer), FakeWire()
    carrying = asyncio.create_task(stream.carry(again))
    await soon(call.until(lambda call: call.pauses == [True]))
    await stream.send("made for the former stream")
    await again.messages.put(twilio_line.start())
    await soon(call.until(lambda call: call.pauses == [True, False]))
    await stream.send("made for the new one")
    assert again.sent == ["made for the new one"]
    stream.release()
    await soon(carrying)
