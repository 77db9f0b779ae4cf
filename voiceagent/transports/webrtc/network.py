"""Network settings of WebRTC calls, made from the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path

from aiortc import RTCIceServer

from voiceagent.transports.webrtc.aioice_udp_mux import Ports
from voiceagent.transports.webrtc.config import WebRtcConfig
from voiceagent.validation.errors import config_error


@dataclass(frozen=True, slots=True)
class Network:
    """Network settings. servers: STUN and TURN. announced_address: replaces this machine's own. ports: UDP
    range. called: networks to which ICE requests may be sent, besides the caller's address.
    """

    servers: tuple[RTCIceServer, ...] = ()
    announced_address: str | None = None
    ports: Ports = (0, 0)
    called: tuple[IPv4Network | IPv6Network, ...] = ()

    def may_call(self, address: str, caller: str) -> bool:
        """Return True if the server may send to a candidate's address. caller: address that requested it."""
        try:
            called = ip_address(address)
        except ValueError:
            return False
        return address == caller or any(called in network for network in self.called)


def network(webrtc: WebRtcConfig, environment: Mapping[str, str], source: Path) -> Network:
    """Return the network settings of `[webrtc]` in the file `source`.

    Raise ConfigError if the TURN server's password is not in the environment.
    """
    servers = [] if webrtc.stun is None else [RTCIceServer(webrtc.stun)]
    if webrtc.turn is not None:
        password = _password(webrtc.turn_password_env, environment, source)
        servers.append(RTCIceServer(webrtc.turn, webrtc.turn_username, password))
    called = tuple(map(ip_network, webrtc.called_networks))
    return Network(tuple(servers), webrtc.announced_address, webrtc.ports, called)


def _password(name: str | None, environment: Mapping[str, str], source: Path) -> str | None:
    if name is None:
        return None
    if not environment.get(name):
        message = "this environment variable is not set; allowed: one that holds the password"
        raise config_error(source, "webrtc.turn_password_env", name, message)
    return environment[name]
