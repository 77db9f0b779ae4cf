"""The phone line's WebSocket end on a real server of its own, with scripted calls behind it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from scripted_call import ScriptedCall
from starlette.applications import Starlette

from voiceagent.client import Client
from voiceagent.config.tables import Config
from voiceagent.config.validation import check
from voiceagent.short_way import ShortWay
from voiceagent.telephony.routes import telephony_routes

ENGINE = {"engine": "none"}


def config_of(telephony: dict[str, Any], server: dict[str, Any] | None = None) -> Config:
    """A configuration with this `[telephony]`; its engines are never started."""
    engines = {stage: ENGINE for stage in ("recognizer", "llm", "synthesizer")}
    document = {**engines, "telephony": telephony, "server": server or {}}
    return check(Config, document, Path("test.toml"))


class PhoneServer:
    """A server on a free port of the loopback. prepare: fields of each call, or CallRefused."""

    def __init__(
        self, config: Config, environment: dict[str, str], prepare: Callable[[], dict[str, Any]]
    ) -> None:
        self.calls: list[ScriptedCall] = []
        self._prepare = prepare
        routes = telephony_routes(config, environment, self._open_call)
        self.uvicorn = uvicorn.Server(
            uvicorn.Config(
                Starlette(routes=routes),
                ws=ShortWay,
                ws_per_message_deflate=False,
                lifespan="off",
                log_level="warning",
            )
        )
        self.socket = socket.create_server(("127.0.0.1", 0))
        # A peer that does not read is to fill our queue, not the kernel.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        self.port = self.socket.getsockname()[1]

    def url(self, provider: str) -> str:
        """Where a provider connects."""
        return f"ws://127.0.0.1:{self.port}/telephony/{provider}"

    @property
    def call(self) -> ScriptedCall:
        """The newest call."""
        return self.calls[-1]

    def _open_call(self, call_id: str, client: Client, model: str) -> ScriptedCall:
        call = ScriptedCall(call_id, client, model, **self._prepare())
        self.calls.append(call)
        return call


@asynccontextmanager
async def phone_server(
    telephony: dict[str, Any],
    environment: dict[str, str] | None = None,
    prepare: Callable[[], dict[str, Any]] = dict,
) -> AsyncIterator[PhoneServer]:
    """A server that runs for the length of the block."""
    server = PhoneServer(config_of(telephony), environment or {}, prepare)
    task = asyncio.create_task(server.uvicorn.serve([server.socket]))
    try:
        while not server.uvicorn.started:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.005)
        yield server
    finally:
        server.uvicorn.should_exit = True
        await task
        server.socket.close()
