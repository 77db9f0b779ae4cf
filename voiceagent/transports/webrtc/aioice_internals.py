"""ICE candidates on this server's UDP ports, which all calls share.

aioice takes any free port for each call and address except the loopback, and has no settings for it.
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
"""Timeout of STUN and TURN servers, during which the caller waits."""

# aioice checks every 5 s whether the remote answers, and drops it after 6 unanswered checks. At 1 s, a killed
# browser is noticed in 9 s; at 10 % loss both ways a call survives for hours.
aioice.ice.CONSENT_INTERVAL = 1


class UdpSockets:
    """UDP sockets of all calls, one per address of this machine, open while a call uses it.

    ports: range from which each socket takes a free port. on_unreadable: called for each datagram that is
    invalid STUN.
    """

    def __init__(self, ports: Ports, on_unreadable: Callable[[], None] = lambda: None) -> None:
        self._ports = ports
        self._on_unreadable = on_unreadable
        self._muxes: dict[str, UdpMux] = {}  # by local address

    def bind(self, connection: aioice.Connection) -> None:
        """Make a connection gather on these sockets. Gathering raises CallRefused if no port is free."""
        # Calls share the port and are told apart by user name: aioice's four letters would collide at times.
        connection._local_username = uuid4().hex[:16]
        connection.get_component_candidates = partial(  # type: ignore[method-assign]
            self._gather, connection
        )

    async def _gather(
        self, connection: aioice.Connection, component: int, addresses: list[str]
    ) -> list[aioice.Candidate]:
        """Return the host candidates and, with servers configured, the reflexive and relayed ones."""
        hosts = addresses or ["127.0.0.1"]  # a machine without a network can still call itself
        protocols = [mux.join(connection) for mux in map(self._mux, hosts) if mux is not None]
        if not protocols:
            raise CallRefused(f"no UDP port from {self._ports[0]} to {self._ports[1]} is free")
        connection._protocols += protocols
        candidates = [_candidate(protocol, component) for protocol in protocols]
        if connection.stun_server:
            candidates += await _reflected(protocols, connection.stun_server)
        # aioice itself gathers the relayed candidates.
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
    """Return the addresses that the STUN server sees for our sockets. IPv4 only: IPv6 needs no STUN."""
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
