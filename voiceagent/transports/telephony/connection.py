"""One open connection of a phone line: reads until the far end goes, writes until it stops reading."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

import structlog

from voiceagent.session.call import Call
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.telephony.control import ControlError
from voiceagent.transports.telephony.phone_call import Ending, LineOptions, PhoneCall
from voiceagent.transports.telephony.phone_client import PhoneClient
from voiceagent.transports.telephony.serializer import Codec, Message
from voiceagent.transports.uvicorn_internals import TURN_MESSAGES

log = structlog.get_logger()

CLOSE_S = 5.0
"""How long the far end may take to read what is left, and the close frame."""


class LineClosed(Exception):
    """The far end has gone; the text says how."""


class Wire(Protocol):
    """A connection that carries whole messages. All raise LineClosed."""

    async def receive(self) -> Message:
        """The next message."""

    async def send(self, message: Message) -> None:
        """Send a message; waits while the far end does not read."""

    def shorten(self, take: Callable[[Message], None] | None, outbox: Outbox[Message]) -> None:
        """From now on hand messages over where they are read, and send them where they are made, if that can
        be; no more with None.
        """

    async def close(self, code: int, reason: str) -> None:
        """Close it, with a WebSocket's close code where it has such things."""


async def carry(
    wire: Wire,
    call_id: str,
    call: Call,
    codec: Codec,
    client: PhoneClient,
    line: LineOptions,
    known: Mapping[str, str],
) -> None:
    """Carry a call that has been opened from its first message to its end. known: see `PhoneCall`."""
    phone = PhoneCall(call_id, call, codec, client, line, known)
    ending = Ending("the connection was cut off")
    try:
        ending = await _run(wire, call, client, phone)
    finally:
        phone.close()
        await call.close(ending.reason)
    if ending.code is not None:
        await _hang_up(wire, codec, client, phone, ending)


async def _run(wire: Wire, call: Call, client: PhoneClient, phone: PhoneCall) -> Ending:
    work: list[Coroutine[Any, Any, Ending]] = [
        _read(wire, phone),
        _write(wire, client),
        _after(client.outbox.overflowed(), Ending("the far end does not read", 1008)),
        _after(call.ended(), Ending("the call ended on the server", 1000)),
    ]
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    wire.shorten(phone.take, client.outbox)
    try:
        done, _ = await asyncio.wait([*tasks, phone.over], return_when=asyncio.FIRST_COMPLETED)
    finally:
        wire.shorten(None, client.outbox)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return done.pop().result()


async def _read(wire: Wire, phone: PhoneCall) -> Ending:
    taken = 0
    try:
        while True:
            phone.take(await wire.receive())
            taken += 1
            if taken % TURN_MESSAGES == 0:
                await asyncio.sleep(0)
    except LineClosed as closed:
        return Ending(str(closed))


async def _write(wire: Wire, client: PhoneClient) -> Ending:
    try:
        while True:
            await wire.send(await client.outbox.next())
    except LineClosed as closed:
        return Ending(str(closed))


async def _after(moment: Coroutine[Any, Any, None], ending: Ending) -> Ending:
    await moment
    return ending


async def _hang_up(wire: Wire, codec: Codec, client: PhoneClient, phone: PhoneCall, ending: Ending) -> None:
    """End the call at the far end, as far as it lets us."""
    assert ending.code is not None
    if ending.hang_up and phone.control is not None:
        try:
            await phone.control.hang_up()
        except ControlError as error:
            log.warning("hang_up_failed", reason=str(error))
    goodbye = codec.hang_up() if ending.hang_up else None
    if goodbye is not None:
        client.outbox.put(goodbye)
    try:
        async with asyncio.timeout(CLOSE_S):
            while len(client.outbox):
                await wire.send(await client.outbox.next())
            await wire.close(ending.code, ending.reason)
    except (TimeoutError, LineClosed):
        log.info("closed_without_goodbye", reason=ending.reason)
