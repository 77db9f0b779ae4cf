"""Hostile offers and packets of a WebRTC caller."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from struct import pack

import httpx
import pytest
from aioice import stun
from aiortc import RTCPeerConnection
from attacked_server import AttackedServer
from rtc_caller import RtcCaller, rtc_calling
from rtc_packets import Asked, piece, send_chunks

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the second caller goes on during a test

SDP = {"content-type": "application/sdp"}


async def offer() -> str:
    peer = RTCPeerConnection()
    peer.addTransceiver("audio")
    peer.createDataChannel("oai-events")
    await peer.setLocalDescription(await peer.createOffer())
    description: str = peer.localDescription.sdp
    await peer.close()
    return description


async def post(server: AttackedServer, description: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        return await http.post(f"http://{server.address}/v1/realtime/calls", content=description, headers=SDP)


async def post_live(server: AttackedServer, description: str) -> httpx.Response:
    transport = {"type": "webrtc", "sdp": description}
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        url = f"http://{server.address}/v1/live/sessions"
        return await http.post(url, json={"session": {"model": "m"}, "transport": transport})


TOO_MUCH: dict[str, Callable[[str], str]] = {
    "candidates; allowed: at most 32": lambda sdp: sdp + _candidates(200),
    "bytes; allowed: at most 65536": lambda sdp: sdp + _candidates(16_000),
    "lines; allowed: at most 1000": lambda sdp: sdp + "a=x\r\n" * 2_000,
    "media sections; allowed: at most 8": lambda sdp: sdp + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n" * 20,
}


def _candidates(count: int) -> str:
    lines = (
        f"a=candidate:{n} 1 udp 2130706431 192.0.2.{n % 250} {n + 1024} typ host\r\n" for n in range(count)
    )
    return "".join(lines)


@pytest.mark.parametrize("limit", TOO_MUCH)
async def test_an_offer_that_is_too_much_is_refused_by_its_limits_name(server: AttackedServer, limit: str):
    answer = await post(server, TOO_MUCH[limit](await offer()))

    assert answer.status_code == 400
    assert limit in answer.json()["error"]["message"]


@pytest.mark.parametrize("limit", TOO_MUCH)
async def test_live_offer_that_is_too_much_is_refused_by_its_limits_name(server: AttackedServer, limit: str):
    answer = await post_live(server, TOO_MUCH[limit](await offer())[:200_000])

    assert answer.status_code == 400
    assert limit in answer.json()["error"]["message"]


async def test_the_largest_offer_that_is_allowed_is_answered(server: AttackedServer):
    description = await offer()
    codecs = "".join(f"a=rtpmap:{n % 128} opus/48000/2\r\na=rtcp-fb:* nack\r\n" for n in range(400))
    answer = await post(server, description + codecs + _candidates(30))
    assert answer.status_code in (201, 400)


@pytest.mark.parametrize("without", [r"a=fingerprint:.*\r\n", r"(?s)a=fingerprint:.*?\r\n(?!a=fing)"])
async def test_an_offer_without_a_fingerprint_is_refused(server: AttackedServer, without: str):
    answer = await post(server, re.sub(without, "", await offer()))

    assert answer.status_code == 400
    assert "fingerprint" in answer.json()["error"]["message"]


async def test_addresses_that_are_not_the_callers_are_never_called(server: AttackedServer):
    victim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    victim.bind(("127.0.0.2", 0))
    victim.setblocking(False)
    port = victim.getsockname()[1]
    line = f"a=candidate:1 1 udp 2130706431 127.0.0.2 {port} typ host\r\n"
    answer = await post(server, await offer() + line)
    assert answer.status_code == 201
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):
            await asyncio.get_running_loop().sock_recv(victim, 2_000)
    victim.close()


async def test_stun_that_cannot_be_read_is_dropped_and_counted(server: AttackedServer):
    answer = await post(server, await offer())
    host, port = re.findall(r"a=candidate:\S+ 1 udp \d+ (\d+\.\S+) (\d+) typ host", answer.text)[0]
    message = bytes(stun.Message(stun.Method.BINDING, stun.Class.REQUEST))
    attribute = b"\x00\x24\x00\x02ab\x00\x00"  # PRIORITY, of two bytes in place of four
    broken = message[:2] + len(attribute).to_bytes(2, "big") + message[4:] + attribute
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
        for _ in range(50):
            for _ in range(100):
                attacker.sendto(broken, (host, int(port)))
            await asyncio.sleep(0.01)
    assert "datagrams_invalid" in server.logged()


async def test_channels_without_end_end_the_call(server: AttackedServer):
    async with rtc_calling(server.address) as caller:
        for number in range(8):
            caller.peer.createDataChannel(f"channel {number}")
        async with asyncio.timeout(30):
            await caller.closed.wait()


async def test_names_of_channels_of_any_length_leave_the_log_short(server: AttackedServer):
    async with rtc_calling(server.address) as caller:
        for _ in range(3):
            caller.peer.createDataChannel("L" * 60_000)
        logged = len(server.logged())
        async with asyncio.timeout(30):
            while server.logged()[logged:].count("channel_ignored") < 3:  # noqa: ASYNC110  in its log alone
                await asyncio.sleep(0.05)


async def test_sources_of_sound_without_end_are_not_heard(server: AttackedServer):
    async with rtc_calling(server.address) as caller:
        line = caller.peer.getTransceivers()[0].sender.transport
        for source in range(2_000):
            head = b"\x80\x60" + (1).to_bytes(2, "big") + bytes(4) + (source + 1).to_bytes(4, "big")
            await line._send_rtp(head + b"\xf8\xff\xfe")
        caller.send(type="session.update", session={"type": "realtime"})
        await caller.until("session.updated")


async def still_heard(caller: RtcCaller) -> None:
    """Assert that the call continues."""
    caller.send(type="session.update", session={"type": "realtime"})
    await caller.until("session.updated")


@pytest.mark.parametrize("kind", [4, 5, 6, 130])
async def test_a_parameter_of_no_length_is_not_read_for_ever(server: AttackedServer, kind: int):
    async with rtc_calling(server.address) as caller:
        await send_chunks(caller, pack("!BBHHH", kind, 0, 8, 1, 0))
        await still_heard(caller)


async def test_a_packet_that_says_all_has_come_again_and_again_costs_nothing(server: AttackedServer):
    async with rtc_calling(server.address) as caller:
        come = caller.peer.sctp._last_received_tsn
        everything = pack("!HH", 0, 65_535) * 300
        for _ in range(30):
            head = pack("!BBHLLHH", 3, 0, 16 + len(everything), come, 1 << 20, 300, 0)
            await send_chunks(caller, head + everything)
        await still_heard(caller)


async def test_pieces_before_a_missing_one_are_not_kept_without_end(server: AttackedServer):
    async with rtc_calling(server.address) as caller:
        first = caller.peer.sctp._local_tsn + 1_000
        for packet in range(600):
            tsns = range(first + 120 * packet, first + 120 * (packet + 1), 2)
            await send_chunks(caller, b"".join(piece(tsn, flags=7) for tsn in tsns))
            await asyncio.sleep(0.005)
        await still_heard(caller)


async def test_pieces_of_no_message_end_the_call(server: AttackedServer):
    async with rtc_calling(server.address) as caller:
        first = caller.peer.sctp._local_tsn
        with suppress(ConnectionError):  # it has ended
            for packet in range(500):
                tsns = range(first + 50 * packet, first + 50 * (packet + 1))
                await send_chunks(caller, b"".join(piece(tsn, flags=4) for tsn in tsns))
                await asyncio.sleep(0.005)
        async with asyncio.timeout(30):
            await caller.closed.wait()


async def test_a_call_that_is_asked_for_from_thousands_of_ports_holds_up_nobody(server: AttackedServer):
    offered = await offer()
    call = Asked(offered, (await post(server, offered)).text)
    for number in range(8_000):
        call.ask().close()
        if number % 20 == 0:
            await asyncio.sleep(0.005)


async def test_what_comes_before_a_call_is_connected_is_not_kept(server: AttackedServer):
    offered = await offer()
    call = Asked(offered, (await post(server, offered)).text)
    before_mb = server.memory_mb()
    with call.ask() as asking:
        await asyncio.sleep(0.2)
        for _ in range(600):
            for _ in range(100):
                asking.send(b"\x80" + bytes(1_400))
            await asyncio.sleep(0.002)
    assert server.memory_mb() < before_mb + 20


async def test_reports_of_thousands_of_sources_are_dropped(server: AttackedServer):
    async with rtc_calling(server.address) as caller:
        line = caller.peer.getTransceivers()[0].sender.transport
        for source in range(10_000):
            await line._send_rtp(pack("!BBHL", 0x80, 201, 1, source + 1))
            if source % 50 == 0:
                await asyncio.sleep(0.005)
        await still_heard(caller)


async def test_more_sound_than_may_come_is_dropped_and_the_call_goes_on(server: AttackedServer):
    async with rtc_calling(server.address) as caller:
        line = caller.peer.getTransceivers()[0].sender.transport
        for number in range(20_000):
            head = pack("!BBHLL", 0x80, 96, number & 0xFFFF, 960 * number & 0xFFFFFFFF, 7)
            await line._send_rtp(head + b"\xf8\xff\xfe")
            if number % 50 == 0:
                await asyncio.sleep(0.005)
        await still_heard(caller)
