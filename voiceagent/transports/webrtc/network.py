"""How WebRTC calls are reached, as the configuration says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiortc import RTCIceServer

from voiceagent.config.tables import Config
from voiceagent.transports.webrtc.udp_mux import Ports
from voiceagent.validation.errors import problem


@dataclass(frozen=True, slots=True)
class Network:
    """servers: STUN and TURN. announced_address: in place of this machine's own. ports: of UDP."""

    servers: tuple[RTCIceServer, ...] = ()
    announced_address: str | None = None
    ports: Ports = (0, 0)


def network(config: Config, environment: Mapping[str, str]) -> Network:
    """The network of a configuration. Raises ConfigError where the TURN server's password is not there."""
    webrtc = config.webrtc
    servers = [] if webrtc.stun is None else [RTCIceServer(webrtc.stun)]
    if webrtc.turn is not None:
        servers.append(RTCIceServer(webrtc.turn, webrtc.turn_username, _password(config, environment)))
    return Network(tuple(servers), webrtc.announced_address, webrtc.ports)


def _password(config: Config, environment: Mapping[str, str]) -> str | None:
    name = config.webrtc.turn_password_env
    if name is None:
        return None
    if not environment.get(name):
        message = "is not set; allowed: an environment variable with the password"
        raise problem(config.source, "webrtc.turn_password_env", name, message)
    return environment[name]
