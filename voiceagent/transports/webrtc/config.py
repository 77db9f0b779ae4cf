"""`[webrtc]` of the configuration."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.validation.section import Section

_Port = Annotated[int, Field(ge=0, le=65_535)]


def _ip_address(given: str) -> str:
    return str(ip_address(given))


def _network(given: str) -> str:
    return str(ip_network(given))


class WebRtcConfig(Section):
    """`[webrtc]`: network addresses and servers of WebRTC calls."""

    announced_address: Annotated[str, AfterValidator(_ip_address)] | None = None
    """IP address for callers instead of this machine's: of a router that forwards `ports`."""
    ports: tuple[_Port, _Port] = (0, 0)
    """First and last UDP port. A process uses one of them for all its calls, at each address of this machine;
    0, 0 for any.
    """
    stun: str | None = Field(default=None, pattern=r"^stun:[^\s:?]+(:\d+)?$")
    """STUN server to find this machine's public address, as "stun:host:port". Default: none."""
    turn: str | None = Field(default=None, pattern=r"^turns?:[^\s:?]+(:\d+)?(\?transport=(udp|tcp))?$")
    """TURN server that relays calls, as "turn:host:port?transport=udp"."""
    turn_username: str | None = None
    """User name for the TURN server."""
    turn_password_env: str | None = None
    """Name of the environment variable with the password for the TURN server."""

    called_networks: tuple[Annotated[str, AfterValidator(_network)], ...] = ()
    """Networks, as "10.0.0.0/8", to which the server may send ICE requests, besides the address of the
    caller's request. Callers from anywhere can always send to this server.
    """

    @model_validator(mode="after")
    def _ports_in_order(self) -> Self:
        first, last = self.ports
        if first > last or (first == 0) != (last == 0):
            raise PydanticCustomError(
                "ports",
                "ports is {ports}; allowed: the first and the last, from 1 to 65535, or 0, 0 for any",
                {"ports": list(self.ports)},
            )
        return self
