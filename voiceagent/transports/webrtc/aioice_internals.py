"""Where a WebRTC call is reached: at the ports of this server, which all calls share.

aioice takes any free port for each call and address but the loopback, and has no settings for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from uuid import uuid4

import aioice
import structlog
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import StunProtocol, server_reflexive_candidate

from voiceagent.session.call import CallRefused
from voiceagent.transports.webrtc.aioice_udp_mux import Ports, UdpMux

log = structlog.get_logger()

_SERVERS_S = 1.0
"""What a STUN or TURN server may take to answer: the caller waits for it."""

# aioice asks every 5 s whether the remote is still there, and takes it for gone after 6 unanswered. Asked
# every second, a browser that was killed is noticed in 9 s; at 10 % loss both ways a call survives for
# hours.
aioice.ice.CONSENT_INTERVAL = 1


class UdpSockets:
    """The sockets of all calls, one for each address of this machine, open while a call uses it.

    ports: of which each takes a free one. on_unreadable: called for each datagram that is no STUN.
    """

    def __init__(self, ports: Ports, on_unreadable: Callable[[], None] = lambda: None) -> None:
        self._ports = ports
        self._on_unreadable = on_unreadable
        self._muxes: dict[str, UdpMux] = {}  # by the address of this machine

    def bind(self, connection: aioice.Connection) -> None:
        """Have a connection that has not gathered yet gather here; that raises CallRefused where no port is
        free.
        """
        # aioice's own four letters would be another call's now and then.
        connection._local_username = uuid4().hex[:16]
        connection.get_component_candidates = partial(  # type: ignore[method-assign]
            self._gather, connection
        )

    async def _gather(
        self, connection: aioice.Connection, component: int, addresses: list[str]
    ) -> list[aioice.Candidate]:
        """The candidates of this machine and, with servers configured, those found through them."""
        hosts = addresses or ["127.0.0.1"]  # a machine without a network can still call itself
        protocols = [mux.join(connection) for mux in map(self._mux, hosts) if mux is not None]
        if not protocols:
            raise CallRefused(f"no UDP port from {self._ports[0]} to {self._ports[1]} is free")
        connection._protocols += protocols
        candidates = [_candidate(protocol, component) for protocol in protocols]
        if connection.stun_server:
            candidates += await _reflected(protocols, connection.stun_server)
        # What is left for aioice itself is the relay.
        return candidates + await aioice.Connection.get_component_candidates(
            connection, component, [], round(_SERVERS_S)
        )

    def _mux(self, host: str) -> UdpMux | None:
        if host not in self._muxes:
            try:
                forget = partial(self._muxes.__delitem__, host)
                self._muxes[host] = UdpMux(host, self._ports, forget, self._on_unreadable)
            except OSError as error:
                log.warning("address_not_bound", address=host, reason=str(error))
        return self._muxes.get(host)


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
