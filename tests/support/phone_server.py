"""The phone line's WebSocket end on a real server of its own, with scripted calls behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from scripted_server import ScriptedServer
from starlette.routing import BaseRoute

from voiceagent.config.tables import Config
from voiceagent.session.call import OpenCall
from voiceagent.transports.telephony.provider import Placement
from voiceagent.transports.telephony.routes import telephony_routes
from voiceagent.validation.section import check

ENGINE = {"engine": "none"}
SEND_BUFFER_BYTES = 16_384
_HERE = Placement()


def config_of(telephony: dict[str, Any], server: dict[str, Any] | None = None) -> Config:
    """A configuration with this `[telephony]`; its engines are never started."""
    engines = {stage: ENGINE for stage in ("recognizer", "llm", "synthesizer")}
    server = server or ({"open": True} if "public_url" in telephony else {})
    document = {**engines, "telephony": telephony, "server": server}
    return check(Config, document, Path("test.toml"))


def routes_of(
    config: Config,
    open_call: OpenCall,
    environment: dict[str, str] | None = None,
    placement: Placement = _HERE,
) -> list[BaseRoute]:
    """The routes of a configuration's phone lines."""
    return telephony_routes(
        config.telephony,
        config.server.host,
        open_call,
        environment or {},
        config.source,
        placement=replace(placement, connecting=config.agent.connecting),
    )


class PhoneServer(ScriptedServer):
    """A server that phone lines connect to."""

    def url(self, provider: str) -> str:
        """Return the URL that a provider connects to."""
        return f"ws://127.0.0.1:{self.port}/telephony/{provider}"


@asynccontextmanager
async def phone_server(
    telephony: dict[str, Any],
    environment: dict[str, str] | None = None,
    prepare: Callable[[], dict[str, Any]] = dict,
    placement: Placement = _HERE,
) -> AsyncIterator[PhoneServer]:
    """A server that runs for the length of the block."""
    server = PhoneServer(prepare)
    routes = routes_of(config_of(telephony), server.open_call, environment, placement)
    async with server.serving([*routes], SEND_BUFFER_BYTES):
        yield server
