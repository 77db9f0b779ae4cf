"""Sends mutated real traffic to every input of a server."""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
from aioice import stun
from aiortc import RTCPeerConnection, RTCSessionDescription
from attacked_server import AttackedServer
from fuzz_messages import CLIENT_EVENTS, mutated, mutated_text
from phone_lines import Asterisk, AudioSocket, Message, Plivo, Provider, Telnyx, Twilio, Vonage
from rtc_caller import RtcCaller, rtc_calling
from websockets.exceptions import ConnectionClosed, InvalidStatus

PER_CONNECTION = 400
"""Messages before a connection is made anew: fewer than come in a burst without being slowed down."""
SOUND = np.zeros(160, np.int16)
STRANGE = (b"\x80\x6f" + bytes(40), b"\x16\xfe\xfd" + bytes(60), b"\x80\xc8" + bytes(30))
"""RTP, DTLS and RTCP of a stranger."""
OFFER_HEAD = (
    "POST /v1/realtime/calls HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n"
)


@dataclass
class Fuzzing:
    """What is sent, and how much of it was. counts: by input."""

    server: AttackedServer
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def port(self) -> int:
        return int(self.server.address.rpartition(":")[2])

    async def websocket(self, name: str, path: str, opening: list[Message], messages: list[Message]) -> None:
        """One connection, until enough was sent or the server ends it."""
        try:
            async with self.server.call(path) as connection:
                reading = asyncio.create_task(_read(connection))
                try:
                    for message in opening:
                        await connection.send(message)
                    for number in range(PER_CONNECTION):
                        message = mutated(self.chance.choice(messages), self.chance)
                        await connection.send(_sendable(message))
                        self.counts[name] += 1
                        if number % 50 == 49:
                            await asyncio.sleep(0)
                finally:
                    await connection.close()
                    await reading
        except (ConnectionClosed, InvalidStatus, OSError):
            pass

    async def realtime(self) -> None:
        await self.websocket("realtime", "/v1/realtime", [], [json.dumps(event) for event in CLIENT_EVENTS])

    def line(self, name: str, provider: type[Provider]) -> Callable[[], Awaitable[None]]:
        async def calls() -> None:
            one = provider()
            start = one.start()
            opening = start if self.chance.random() < 0.9 else []
            said = [
                *start,
                one.key("1"),
                one.key("#"),
                one.played("a"),
                *(one.sound(SOUND, n) for n in range(8)),
            ]
            await self.websocket(name, f"/telephony/{name}", opening, said)

        return calls

    async def audiosocket(self) -> None:
        one = AudioSocket()
        await self._tcp(
            "audiosocket", self.server.audiosocket, one.start(), [one.sound(SOUND, 1), one.key("1")]
        )

    async def http(self) -> None:
        heads = [
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}".encode()
            for method in ("GET", "POST", "OPTIONS", "HEAD")
            for path in ("/health", "/metrics", "/", "/v1/realtime/calls", "/telephony/twilio/voice")
            for length, body in ((0, ""), (2, "{}"), (7, "a=b&c=d"), (5, "x"))
        ]
        await self._tcp("http", self.port, [], heads, per_connection=1)

    async def _tcp(
        self, name: str, port: int, opening: list[Message], messages: list[Message], per_connection: int = 200
    ) -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return
        try:
            for message in opening:
                writer.write(_bytes(message))
            for _ in range(per_connection):
                writer.write(_bytes(mutated(self.chance.choice(messages), self.chance)))
                self.counts[name] += 1
                await writer.drain()
            if per_connection == 1:
                async with asyncio.timeout(0.05):
                    await reader.read(1_000)
        except (OSError, TimeoutError):
            pass
        finally:
            writer.transport.abort()

    async def offers(self, offer: str) -> None:
        lines = offer.splitlines(keepends=True)
        for _ in range(20):
            index = self.chance.randrange(len(lines))
            changed = [*lines]
            changed[index] = mutated_text(lines[index], self.chance)
            body = "".join(changed)[:60_000].encode("utf-8", "replace")
            head = OFFER_HEAD.format(len(body))
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(head.encode() + body)
                async with asyncio.timeout(10):
                    await reader.read(100)
                writer.transport.abort()
            except (OSError, TimeoutError):
                pass
            self.counts["sdp"] += 1

    async def datagrams(self, caller: RtcCaller) -> None:
        """Strangers' datagrams to the port of a call: STUN, DTLS, RTP."""
        host, port = re.findall(r"a=candidate:\S+ 1 udp \d+ (\d+\.\S+) (\d+) typ host", caller.answer)[0]
        user = re.findall(r"a=ice-ufrag:(\S+)", caller.answer)[0]
        request = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
        request.attributes |= {"USERNAME": f"{user}:x", "PRIORITY": 1, "ICE-CONTROLLING": 1}
        signed = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
        signed.attributes |= {"USERNAME": f"{user}:x", "PRIORITY": 1}
        signed.add_message_integrity(b"wrong")
        real = [bytes(request), bytes(signed), *STRANGE]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for number in range(500):
                data = _bytes(mutated(self.chance.choice(real), self.chance))[:1_400]
                stranger.sendto(data, (host, int(port)))
                self.counts["stun"] += 1
                if number % 50 == 49:
                    await asyncio.sleep(0.005)

    async def media(self, caller: RtcCaller) -> None:
        """The caller's own broken packets, encrypted with the keys of his call, and his events."""
        line = caller.peer.getTransceivers()[0].sender.transport
        rtp = b"\x90\x60\x00\x01" + bytes(7) + b"\x07\xbe\xde\x00\x01\x10\x30\x00\x00" + b"\xf8\xff" * 9
        rtcp = b"\x80\xc8\x00\x06" + bytes(24)
        sctp = bytes(caller.peer.sctp._get_timestamp().to_bytes(8, "big")) * 4
        for _ in range(100):
            kind, data = self.chance.choice((("rtp", rtp), ("rtcp", rtcp), ("sctp", sctp)))
            broken = _bytes(mutated(data, self.chance))
            try:
                if kind == "sctp":
                    await line._send_data(broken[:1_200])
                else:
                    head = b"\x80\xc8" if kind == "rtcp" else b"\x90\x60"
                    await line._send_rtp((head + broken[2:]).ljust(12, b"\x00")[:1_200])
            except Exception:
                continue
            finally:
                self.counts[kind] += 1
        for _ in range(30):
            message = mutated(json.dumps(self.chance.choice(CLIENT_EVENTS)), self.chance)
            if caller.channel.readyState == "open":
                caller.channel.send(str(_sendable(message))[:16_000])
            self.counts["data channel"] += 1
        await asyncio.sleep(0.05)

    async def webrtc(self, offer: str) -> None:
        try:
            async with asyncio.timeout(20), rtc_calling(self.server.address) as caller:
                await self.datagrams(caller)
                for _ in range(5):
                    await self.media(caller)
                await self.offers(offer)
        except (AssertionError, TimeoutError, ConnectionError):
            pass  # the call ended by what was sent


async def fuzz(server: AttackedServer, messages: int, seed: int) -> Counter[str]:
    """Send so many messages, a few connections at once; gives how many by input."""
    fuzzing = Fuzzing(server, random.Random(seed))
    offer = await _offer()
    lines = {"twilio": Twilio, "telnyx": Telnyx, "plivo": Plivo, "vonage": Vonage, "asterisk": Asterisk}
    kinds: list[Callable[[], Awaitable[None]]] = [
        fuzzing.realtime,
        fuzzing.realtime,
        *(fuzzing.line(name, provider) for name, provider in lines.items()),
        fuzzing.audiosocket,
        lambda: fuzzing.webrtc(offer),
    ]
    while fuzzing.counts.total() < messages:
        await asyncio.gather(*(kind() for kind in kinds), *(fuzzing.http() for _ in range(20)))
        assert server.process.returncode is None, "the server has ended"
    return fuzzing.counts


async def _offer() -> str:
    peer = RTCPeerConnection()
    peer.addTransceiver("audio")
    peer.createDataChannel("oai-events")
    await peer.setLocalDescription(await peer.createOffer())
    description: RTCSessionDescription = peer.localDescription
    await peer.close()
    return str(description.sdp)


async def _read(connection: object) -> None:
    try:
        async for _ in connection:  # type: ignore[attr-defined]
            pass
    except ConnectionClosed:
        pass


def _sendable(message: Message) -> Message:
    """Lone surrogates cannot be sent as text."""
    return message.encode("utf-8", "replace").decode() if isinstance(message, str) else message


def _bytes(message: Message) -> bytes:
    return message.encode("utf-8", "replace") if isinstance(message, str) else message
