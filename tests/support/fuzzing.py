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
from typing import Any

import httpx
import numpy as np
from aioice import stun
from aiortc import RTCPeerConnection, RTCSessionDescription
from attacked_server import AttackedServer
from fuzz_messages import CLIENT_EVENTS, LIVE_EVENTS, LIVE_START, mutated, mutated_text
from phone_lines import Asterisk, AudioSocket, Message, Plivo, Provider, Telnyx, Twilio, Vonage
from rtc_caller import LiveRtcCaller, RtcCaller, rtc_calling
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode

PER_CONNECTION = 400
"""Messages before a connection is made anew: fewer than come in a burst without being slowed down."""
REFUSED_S = 0.1
"""Who finds no place for a call tries again after that."""
LINES = {"twilio": Twilio, "telnyx": Telnyx, "plivo": Plivo, "vonage": Vonage, "asterisk": Asterisk}
SOUND = np.zeros(160, np.int16)
STRANGE = (b"\x80\x6f" + bytes(40), b"\x16\xfe\xfd" + bytes(60), b"\x80\xc8" + bytes(30))
"""RTP, DTLS and RTCP of a stranger."""
OFFER_HEAD = (
    "POST /v1/realtime/calls HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n"
)
HANG_UP = "POST {}/hangup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
UPGRADE = (
    "GET {} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
FORM = (
    '--x\r\nContent-Disposition: form-data; name="sdp"\r\n\r\nv=0\r\n--x\r\n'
    'Content-Disposition: form-data; name="session"\r\n\r\n{"type":"realtime"}\r\n--x--\r\n'
)
REQUESTS = [
    *(f"{method} {path}" for method in ("GET", "HEAD") for path in ("/", "/health", "/metrics", "/load")),
    *(f"GET {path}" for path in ("/triage", "/triage.json", "/index.html", "/../secret", "/%2e%2e/%00")),
    "OPTIONS /v1/realtime/calls",
    "OPTIONS /v1/live/sessions",
    *(f"POST /v1/live/sessions/live_0/{action}" for action in ("hangup", "accept", "reject", "refer")),
    "GET /v1/live/sessions/live_0/content",
    "POST /v1/realtime/calls/rtc_0/hangup",
    "GET /v1/realtime?call_id=rtc_0",
    "GET /v1/live/sessions?session_id=live_0&after=event_1",
]
LIVE_ENDS = ("/live_0/attach", "/live_0/fork", "?session_id=live_0&after=event_1", "?resume_s=1")
_OFFER = '"transport":{"type":"webrtc","sdp":"v=0"}'
_ALLOWED = '"allowed_client_events":["session.close"],"allowed_server_events":[{"type":"error"}]'
BODIES = {
    "/v1/live/sessions": [
        (
            "application/json",
            f'{{"session":{{"model":"m","client":{{"data_channel":{{{_ALLOWED}}}}}}},{_OFFER}}}',
        ),
    ],
    "/v1/live/sessions/live_0/fork": [("application/json", f'{{"session":{{"store":false}},{_OFFER}}}')],
    "/v1/realtime/calls": [("application/sdp", "v=0\r\n"), ("multipart/form-data; boundary=x", FORM)],
    "/v1/realtime/client_secrets": [
        ("application/json", '{"session":{"type":"realtime"}}'),
        (
            "application/json",
            f'{{"session":{{"type":"live","model":"m","client":{{"data_channel":{{{_ALLOWED}}}}}}}}}',
        ),
    ],
    "/telephony/twilio/voice": [("application/x-www-form-urlencoded", "CallSid=CA0&From=%2B1555&To=b")],
    "/telephony/plivo/transfer": [("application/x-www-form-urlencoded", "CallUUID=0&From=1555")],
}


@dataclass
class Fuzzing:
    """Messages sent, and their number. counts: by input. refused: calls for which there was no capacity."""

    server: AttackedServer
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    refused: int = 0

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
        except InvalidStatus:
            self.refused += 1
            await asyncio.sleep(REFUSED_S)
        except (ConnectionClosed, OSError):
            pass

    async def realtime(self) -> None:
        await self.websocket("realtime", "/v1/realtime", [], [json.dumps(event) for event in CLIENT_EVENTS])

    async def live(self) -> None:
        """Attack Live sessions: their start, and what follows one."""
        start, events = json.dumps(LIVE_START), [json.dumps(event) for event in LIVE_EVENTS]
        opening: list[Message] = [start] if self.chance.random() < 0.8 else []
        await self.websocket("live", "/v1/live/sessions", opening, [*events, start])

    async def transcription(self) -> None:
        """Attack sessions that only transcribe."""
        events = [json.dumps(event) for event in CLIENT_EVENTS]
        events += [event.replace('"realtime"', '"transcription"') for event in events if "session" in event]
        await self.websocket("transcription", "/v1/realtime?intent=transcription", [], events)

    async def sideband(self) -> None:
        """Attack the sideband of an idle call, or wait if the server refuses the call."""
        events: list[Message] = [json.dumps(event) for event in CLIENT_EVENTS]
        await self._beside("/v1/realtime", [], "sideband", "/v1/realtime?call_id={}", events)

    async def live_sideband(self) -> None:
        """Attack the sideband of an idle Live session."""
        events: list[Message] = [json.dumps(event) for event in LIVE_EVENTS]
        start: list[Message] = ['{"type":"session.start","session":{"model":"m"}}']
        path = "/v1/live/sessions/{}/attach"
        await self._beside("/v1/live/sessions?resume_s=1", start, "live sideband", path, events)

    async def _beside(
        self, own: str, opening: list[Message], name: str, path: str, events: list[Message]
    ) -> None:
        """Attack a second connection of a call. own: path of its first. path: with the call's id."""
        try:
            async with self.server.call(own) as call:
                for message in opening:
                    await call.send(message)
                call_id = json.loads(await call.recv())["session"]["id"]
                reading = asyncio.create_task(_read(call))
                try:
                    await self.websocket(name, path.format(call_id), [], events)
                finally:
                    await call.close()
                    await reading
        except InvalidStatus:
            self.refused += 1
            await asyncio.sleep(REFUSED_S)
        except (ConnectionClosed, OSError):
            pass

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

    async def frames(self) -> None:
        """WebSockets whose frames are broken, not what these say."""
        path = self.chance.choice(["/v1/realtime", *(f"/telephony/{name}" for name in LINES)])
        event = json.dumps(self.chance.choice(CLIENT_EVENTS)).encode()
        said: list[Message] = [
            Frame(opcode, data, fin).serialize(mask=True)
            for opcode, data, fin in (
                (Opcode.TEXT, event, True),
                (Opcode.TEXT, event, False),
                (Opcode.BINARY, bytes(320), True),
                (Opcode.CONT, b"{}", True),
                (Opcode.CONT, b"", False),
                (Opcode.PING, b"a", True),
                (Opcode.PONG, b"", True),
                (Opcode.CLOSE, b"\x03\xe8", True),
            )
        ]
        await self._tcp("frames", self.port, [UPGRADE.format(path)], said, per_connection=20)

    async def http(self) -> None:
        heads = [f"{line} HTTP/1.1\r\nHost: localhost\r\n\r\n" for line in REQUESTS]
        queries = ("", "?call_id=rtc_0", "?intent=transcription")
        heads += [UPGRADE.format(f"/v1/realtime{query}") for query in queries]
        heads += [UPGRADE.format(f"/v1/live/sessions{end}") for end in LIVE_ENDS]
        for path, bodies in BODIES.items():
            for kind, whole_body in bodies:
                body = mutated_text(whole_body, self.chance)
                length = len(body.encode("utf-8", "replace"))
                heads.append(
                    f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
                    f"Content-Length: {length}\r\n\r\n{body}"
                )
        whole = self.chance.choice(heads)
        if self.chance.random() < 0.5:
            whole = mutated_text(whole, self.chance)
        await self._tcp("http", self.port, [], [whole], per_connection=1)

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
                message = self.chance.choice(messages)
                writer.write(_bytes(mutated(message, self.chance) if per_connection > 1 else message))
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
        """Send offers with a broken line; hang up calls that result."""
        lines = offer.splitlines(keepends=True)
        for _ in range(20):
            changed = [*lines]
            for _ in range(self.chance.choice((1, 1, 2, 4))):
                index = self.chance.randrange(len(lines))
                changed[index] = self.chance.choice(
                    (mutated_text(lines[index], self.chance), "", lines[index] * 2)
                )
            body = "".join(changed)[:60_000].encode("utf-8", "replace")
            answer = await self._asked(OFFER_HEAD.format(len(body)).encode() + body)
            self.counts["sdp"] += 1
            if found := re.search(r"location: (\S+)", answer, re.IGNORECASE):
                await self._asked(HANG_UP.format(found[1]).encode())

    async def _asked(self, request: bytes) -> str:
        """The head of an answer."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(request)
            async with asyncio.timeout(10):
                answer = await reader.read(500)
            writer.transport.abort()
        except (OSError, TimeoutError):
            return ""
        return answer.decode("latin-1")

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
            for number in range(1_000):
                data = _bytes(mutated(self.chance.choice(real), self.chance))[:1_400]
                stranger.sendto(data, (host, int(port)))
                self.counts["stun"] += 1
                if number % 50 == 49:
                    await asyncio.sleep(0.005)

    async def media(self, caller: RtcCaller, events: list[dict[str, Any]]) -> None:
        """The caller's own broken packets, encrypted with the keys of his call, and his events."""
        line = caller.peer.getTransceivers()[0].sender.transport
        rtp = b"\x90\x60\x00\x01" + bytes(7) + b"\x07\xbe\xde\x00\x01\x10\x30\x00\x00" + b"\xf8\xff" * 9
        rtcp = b"\x80\xc8\x00\x06" + bytes(24)
        sctp = bytes(caller.peer.sctp._get_timestamp().to_bytes(8, "big")) * 4
        dtls = b"\x17\xfe\xfd\x00\x01" + bytes(8) + b"\x00\x20" + bytes(32)
        for _ in range(200):
            kind, data = self.chance.choice((("rtp", rtp), ("rtcp", rtcp), ("sctp", sctp), ("dtls", dtls)))
            broken = _bytes(mutated(data, self.chance))
            try:
                if kind == "sctp":
                    await line._send_data(broken[:1_200])
                elif kind == "dtls":
                    await line.transport._send(broken[:1_200])
                else:
                    head = b"\x80\xc8" if kind == "rtcp" else b"\x90\x60"
                    await line._send_rtp((head + broken[2:]).ljust(12, b"\x00")[:1_200])
            except Exception:
                continue
            finally:
                self.counts[kind] += 1
        for _ in range(60):
            message = mutated(json.dumps(self.chance.choice(events)), self.chance)
            if caller.channel.readyState == "open":
                caller.channel.send(str(_sendable(message))[:16_000])
                self.counts["data channel"] += 1
        await asyncio.sleep(0.05)

    async def webrtc(self) -> None:
        """Attack a call of either API over WebRTC."""
        kind, events = self.chance.choice(((RtcCaller, CLIENT_EVENTS), (LiveRtcCaller, LIVE_EVENTS)))
        try:
            async with asyncio.timeout(20), rtc_calling(self.server.address, kind=kind) as caller:
                await self.datagrams(caller)
                for _ in range(6):
                    await self.media(caller, events)
        except AssertionError:
            self.refused += 1
            await asyncio.sleep(REFUSED_S)
        except (TimeoutError, ConnectionError, httpx.HTTPError):
            pass  # the call ended by what was sent, or all are waited for


async def fuzz(server: AttackedServer, messages: int, seed: int) -> Counter[str]:
    """Send so many messages, many connections at once; gives how many by input."""
    fuzzing = Fuzzing(server, random.Random(seed))
    offer = await _offer()
    # What is to come of each, in parts of the whole, and how many connections of it there are at once.
    kinds: list[tuple[str, float, int, Callable[[], Awaitable[None]]]] = [
        ("realtime", 0.1, 3, fuzzing.realtime),
        ("live", 0.05, 1, fuzzing.live),
        ("transcription", 0.05, 1, fuzzing.transcription),
        ("sideband", 0.05, 1, fuzzing.sideband),
        ("live sideband", 0.03, 1, fuzzing.live_sideband),
        *((name, 0.07, 1, fuzzing.line(name, provider)) for name, provider in LINES.items()),
        ("audiosocket", 0.07, 1, fuzzing.audiosocket),
        ("frames", 0.06, 4, fuzzing.frames),
        ("http", 0.04, 6, fuzzing.http),
        ("sdp", 0.03, 3, lambda: fuzzing.offers(offer)),
        ("stun", 0.2, 2, fuzzing.webrtc),
    ]

    async def go_on(name: str, part: float, send: Callable[[], Awaitable[None]]) -> None:
        while fuzzing.counts[name] < part * messages:
            await send()
            assert server.process.returncode is None, "the server has ended"

    async with asyncio.TaskGroup() as group:
        for name, part, connections, send in kinds:
            for _ in range(connections):
                group.create_task(go_on(name, part, send))
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
