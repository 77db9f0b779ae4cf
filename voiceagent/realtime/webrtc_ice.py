"""Where a WebRTC call is reached: the addresses and ports that aioice binds.

aioice takes any free port, of every address but the loopback, and has no settings for it.
"""

from __future__ import annotations

import asyncio
import random
import socket
from functools import partial

import aioice
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import StunProtocol, server_reflexive_candidate

from voiceagent.call import CallRefused

Ports = tuple[int, int]
"""The first and the last UDP port that may be used; 0, 0 for any."""

_RECEIVE_BUFFER_BYTES = 262_144
_SERVERS_S = 1.0
"""What a STUN or TURN server may take to answer: the caller waits for it."""

# aioice asks every 5 s whether the far end is still there, and takes it for gone after 6 unanswered. Asked
# every second, a browser that was killed is noticed in 9 s; at 10 % loss both ways a call survives for
# hours.
aioice.ice.CONSENT_INTERVAL = 1


def bind_in(connection: aioice.Connection, ports: Ports) -> None:
    """Have a connection that has not gathered yet gather in `ports`; that raises CallRefused where none is
    free.
    """
    connection.get_component_candidates = partial(_gather, connection, ports)  # type: ignore[method-assign]


async def _gather(
    connection: aioice.Connection, ports: Ports, component: int, addresses: list[str]
) -> list[aioice.Candidate]:
    """The candidates of this machine and, with servers configured, those found through them."""
    protocols = []
    for address in addresses or ["127.0.0.1"]:  # a machine without a network can still call itself
        protocol = await _bind(connection, address, ports)
        if protocol is not None:
            protocols.append(protocol)
    if not protocols:
        raise CallRefused(f"no UDP port from {ports[0]} to {ports[1]} is free")
    connection._protocols += protocols
    candidates = [_candidate(protocol, component) for protocol in protocols]
    if connection.stun_server:
        candidates += await _reflected(protocols, connection.stun_server)
    # What is left for aioice itself is the relay.
    return candidates + await aioice.Connection.get_component_candidates(
        connection, component, [], round(_SERVERS_S)
    )


async def _reflected(protocols: list[StunProtocol], server: tuple[str, int]) -> list[aioice.Candidate]:
    """The addresses that the STUN server sees our sockets at; IPv4 is all that needs it."""
    asking = [
        asyncio.create_task(server_reflexive_candidate(protocol, server))
        for protocol in protocols
        if ":" not in protocol.local_candidate.host
    ]
    if not asking:
        return []
    answered, unanswered = await asyncio.wait(asking, timeout=_SERVERS_S)
    for task in unanswered:
        task.cancel()
    return [task.result()[0] for task in answered if task.exception() is None]


async def _bind(connection: aioice.Connection, address: str, ports: Ports) -> StunProtocol | None:
    """A socket on a port of the range that is free, tried from a random one on; None where none is."""
    first, last = ports
    span = last - first + 1
    start = random.randrange(span)
    for offset in range(span):
        port = first + (start + offset) % span
        try:
            transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: StunProtocol(connection), local_addr=(address, port)
            )
        except OSError:
            continue
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES
        )
        return protocol
    return None


def _candidate(protocol: StunProtocol, component: int) -> aioice.Candidate:
    host, port = protocol.transport.get_extra_info("sockname")[:2]
    protocol.local_candidate = aioice.Candidate(
        foundation=candidate_foundation("host", "udp", host),
        component=component,
        transport="udp",
        priority=candidate_priority(component, "host"),
        host=host,
        port=port,
        type="host",
    )
    return protocol.local_candidate
