"""One UDP port for many calls, with aioice's own connections as the remotes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import aioice.ice
import pytest
from aioice import Connection, stun
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.session.call import CallRefused
from voiceagent.transports.webrtc.aioice_internals import UdpSockets
from voiceagent.transports.webrtc.aioice_udp_mux import MANY_CALLS, UdpMux

PATIENCE_S = 10.0
SOUND = b"\x80 a packet"


@pytest.fixture(autouse=True)
def _on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])


@pytest.fixture
async def connected() -> AsyncIterator[Callable[[UdpSockets], object]]:
    """Makes calls: the server's end, which has a place at the sockets, and the caller's."""
    made: list[Connection] = []

    async def connect(sockets: UdpSockets) -> tuple[Connection, Connection]:
        server, caller = Connection(ice_controlling=False), Connection(ice_controlling=True)
        made.extend((server, caller))
        sockets.bind(server)
        for end in (server, caller):
            await end.gather_candidates()
        for end, other in ((server, caller), (caller, server)):
            end.remote_username, end.remote_password = other.local_username, other.local_password
            for candidate in other.local_candidates:
                await end.add_remote_candidate(candidate)
            await end.add_remote_candidate(None)
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(server.connect(), caller.connect())
        return server, caller

    yield connect
    for connection in made:
        await connection.close()


def port(connection: Connection) -> int:
    (candidate,) = connection.local_candidates
    return candidate.port


async def heard(connection: Connection) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        return await connection.recv()


async def test_calls_at_one_port_hear_their_own_caller_each(connected) -> None:
    sockets = UdpSockets((0, 0))
    calls = [await connected(sockets) for _ in range(3)]
    assert len({port(server) for server, _ in calls}) == 1
    for number, (_, caller) in enumerate(calls):
        await caller.send(SOUND + bytes((number,)))
    for number, (server, caller) in enumerate(calls):
        assert await heard(server) == SOUND + bytes((number,))
        await server.send(b"\x80 answer" + bytes((number,)))
        assert await heard(caller) == b"\x80 answer" + bytes((number,))


async def test_the_last_of_the_calls_gives_the_port_back(connected) -> None:
    sockets = UdpSockets((0, 0))
    (first, _), (second, caller) = await connected(sockets), await connected(sockets)
    shared = port(first)
    await first.close()
    await caller.send(SOUND)
    assert await heard(second) == SOUND
    await second.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", shared))


async def test_a_call_after_the_last_one_finds_a_port_again(connected) -> None:
    sockets = UdpSockets((0, 0))
    server, _ = await connected(sockets)
    await server.close()
    again, caller = await connected(sockets)
    await caller.send(SOUND)
    assert await heard(again) == SOUND


async def test_a_range_without_a_free_port_refuses_the_call() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        number = taken.getsockname()[1]
        connection = Connection(ice_controlling=False)
        UdpSockets((number, number)).bind(connection)
        with pytest.raises(CallRefused, match=f"no UDP port from {number} to {number} is free"):
            await connection.gather_candidates()


async def test_many_calls_are_heard_together_up_to_the_most(connected) -> None:
    sockets = UdpSockets((0, 0))
    calls = [await connected(sockets) for _ in range(MANY_CALLS)]
    for number in range(3):
        for _, caller in calls:
            await caller.send(SOUND + bytes((number,)))
        await asyncio.sleep(0.02)
    for server, _ in calls:
        assert [await heard(server) for _ in range(3)] == [SOUND + bytes((number,)) for number in range(3)]
    for server, _ in calls[1:]:
        await server.close()
    (server, caller) = calls[0]
    for _ in range(3):
        await caller.send(SOUND)
        assert await heard(server) == SOUND
        await asyncio.sleep(0.02)


async def test_all_of_many_calls_can_end_while_their_sound_is_gathered(connected) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    sockets = UdpSockets((0, 0))
    calls = [await connected(sockets) for _ in range(MANY_CALLS)]
    for _, caller in calls:
        await caller.send(SOUND)
    await asyncio.sleep(0)
    for server, _ in calls:
        await server.close()
    await asyncio.sleep(0.05)
    assert reported == []


async def test_a_datagram_that_fails_one_call_hurts_no_other(connected) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    sockets = UdpSockets((0, 0))
    calls = [await connected(sockets) for _ in range(MANY_CALLS)]
    failure = RuntimeError("the call broke")

    def broken(data: bytes, component: int) -> None:
        raise failure

    calls[0][0].data_received = broken
    for _ in range(3):
        for _, caller in calls:
            await caller.send(SOUND)
        await asyncio.sleep(0.02)
    for server, _ in calls[1:]:
        assert [await heard(server) for _ in range(3)] == [SOUND] * 3
    assert reported == [failure] * 3


# ---- whose an address is


class Stranger:
    """A socket that says something to a port of the server's."""

    def __init__(self, server: Connection) -> None:
        self.server = server
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    async def __aenter__(self) -> Stranger:
        await asyncio.get_running_loop().sock_connect(self._socket, ("127.0.0.1", port(self.server)))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._socket.close()

    async def say(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def ask(self, password: str) -> stun.Message:
        """The answer to a request for this call, signed with a password."""
        request = stun.Message(message_method=stun.Method.BINDING, message_class=stun.Class.REQUEST)
        request.attributes["USERNAME"] = f"{self.server.local_username}:{self.server.remote_username}"
        request.attributes["PRIORITY"] = 1
        request.attributes["ICE-CONTROLLING"] = 1
        request.add_message_integrity(password.encode())
        await self.say(bytes(request))
        async with asyncio.timeout(PATIENCE_S):
            return stun.parse_message(await asyncio.get_running_loop().sock_recv(self._socket, 2_048))


async def test_a_caller_whose_address_changes_is_known_by_the_calls_password(connected) -> None:
    server, _ = await connected(UdpSockets((0, 0)))
    async with Stranger(server) as moved:
        answer = await moved.ask(server.local_password)
        assert answer.message_class == stun.Class.RESPONSE
        await moved.say(SOUND)
        assert await heard(server) == SOUND


async def test_who_does_not_know_the_password_is_refused_and_not_heard(connected) -> None:
    server, caller = await connected(UdpSockets((0, 0)))
    async with Stranger(server) as stranger:
        answer = await stranger.ask("a password of 22 letters")
        assert answer.message_class == stun.Class.ERROR
        await stranger.say(SOUND)
        await caller.send(SOUND + b" of the caller")
        assert await heard(server) == SOUND + b" of the caller"


async def test_a_call_has_so_many_addresses_and_the_newest_are_kept(connected) -> None:
    server, _ = await connected(UdpSockets((0, 0)))
    strangers = [Stranger(server) for _ in range(20)]
    for stranger in strangers:
        async with stranger:
            await stranger.ask(server.local_password)
            if stranger in (strangers[0], strangers[-1]):
                await stranger.say(SOUND)
                assert await heard(server) == SOUND
    mux = server._protocols[0].transport._mux
    assert len(mux._place_of) == 16


async def test_a_call_is_asked_from_so_many_addresses_and_from_these_again(connected) -> None:
    server, _ = await connected(UdpSockets((0, 0)))
    async with Stranger(server) as first:
        await first.ask(server.local_password)
        for _ in range(100):
            async with Stranger(server) as stranger:
                try:
                    async with asyncio.timeout(0.05):
                        await stranger.ask(server.local_password)
                except TimeoutError:
                    break
        assert len(server.remote_candidates) == 64
        await first.ask(server.local_password)


async def test_what_a_call_does_not_take_is_lost(connected) -> None:
    sockets = UdpSockets((0, 0))
    (deaf, flooding), (server, caller) = await connected(sockets), await connected(sockets)
    for _ in range(20):
        for _ in range(50):
            await flooding.send(SOUND)
        await asyncio.sleep(0.01)
    assert deaf._queue.qsize() == 256
    await caller.send(SOUND)
    assert await heard(server) == SOUND


async def test_an_address_that_shows_another_calls_password_is_that_calls(connected) -> None:
    sockets = UdpSockets((0, 0))
    (first, _), (second, _) = await connected(sockets), await connected(sockets)
    async with Stranger(first) as stranger:
        await stranger.ask(first.local_password)
        stranger.server = second
        await stranger.ask(second.local_password)
        await stranger.say(SOUND)
        assert await heard(second) == SOUND


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"", b"\x00\x01", b"\x01\x01", b"\x16\xfe\xff", b"\x80"]))
def test_what_is_no_call_does_no_harm(rest: bytes, begin: bytes) -> None:
    async def take() -> None:
        closed: list[bool] = []
        mux = UdpMux("127.0.0.1", (0, 0), lambda: closed.append(True))
        protocol = mux.join(Connection(ice_controlling=False))
        reported: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
            far.sendto(begin + rest, mux.sockname)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        with pytest.raises(BlockingIOError):  # it was taken
            mux._socket.recvfrom(1)
        await protocol.close()
        assert closed == [True]
        assert reported == []

    asyncio.run(take())
