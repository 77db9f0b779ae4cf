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
    """`[webrtc]`: how WebRTC clients reach this server, if not at the addresses of this machine."""

    announced_address: Annotated[str, AfterValidator(_ip_address)] | None = None
    """IP address in SDP answers, if a router forwards `ports` to this machine."""
    ports: tuple[_Port, _Port] = (0, 0)
    """First and last UDP port. Each process takes one for all its calls. 0, 0 takes any."""
    stun: str | None = Field(default=None, pattern=r"^stun:[^\s:?]+(:\d+)?$")
    """STUN server that tells this machine's public address, as "stun:host:port"."""
    turn: str | None = Field(default=None, pattern=r"^turns?:[^\s:?]+(:\d+)?(\?transport=(udp|tcp))?$")
    """TURN server that relays calls, as "turn:host:port?transport=udp"."""
    turn_username: str | None = None
    """User name for the TURN server."""
    turn_password_env: str | None = None
    """Environment variable that holds the password for the TURN server."""

    called_networks: tuple[Annotated[str, AfterValidator(_network)], ...] = ()
    """Networks, such as "10.0.0.0/8", to whose addresses media may be sent even if the request came from
    elsewhere. Any caller is always reachable at the address of its own request.
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
