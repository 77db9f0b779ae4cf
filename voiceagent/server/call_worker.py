"""A worker: a server for the connections that its parent hands over, with the parent's engines."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

import structlog
import uvloop
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from llmcore.serving.admission import Refusal
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.access.slots import SharedSlots
from voiceagent.config.tables import Config
from voiceagent.engines.engines import Engines
from voiceagent.engines.remote import RemoteLlm, RemoteRecognizer, RemoteSynthesizer
from voiceagent.llm.load_shedding import LoadShedder, SheddingLevel
from voiceagent.processes.rpc import Peer, PeerError, Service
from voiceagent.server.http import Http
from voiceagent.server.routes import Routes
from voiceagent.server.startup import started
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.telephony.audiosocket.endpoint import AudioSocketEndpoint
from voiceagent.validation.errors import CommandFailed

HTTP, AUDIOSOCKET = b"h", b"a"
"""What a connection that is handed over came for."""


class Outlook(NamedTuple):
    """What the parent tells about the LLM: the level of load shedding, and why calls are refused, if so."""

    level: SheddingLevel
    refusal: Refusal | None


def one(answer: Callable[[Any], Awaitable[Any]]) -> Service:
    """The service for `Peer.ask`: one value for what it was asked."""

    async def service(asked: Any, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        yield await answer(asked)

    return service


class _Parent:
    """The rest of the server, as its routes ask for it: a `WholeServer`."""

    def __init__(self, peer: Peer, metrics: Metrics) -> None:
        self._peer = peer
        self._metrics = metrics
        self._refusal: Refusal | None = None
        self.shedder = LoadShedder()

    async def monitor(self) -> None:
        """Follow the LLM's state for as long as the parent is there."""
        with suppress(PeerError):
            async with aclosing(self._peer.stream("outlook")) as outlooks:
                async for outlook in outlooks:
                    self.shedder.level, self._refusal = outlook

    def refusal(self, calls: int) -> Refusal | None:
        if self._refusal is None or not calls:
            return None
        self._metrics.llm.call_refused(self._refusal)
        return self._refusal

    async def health(self) -> dict[str, Any]:
        health: dict[str, Any] = await self._peer.ask("health")
        return health

    async def metrics_page(self) -> bytes:
        page: bytes = await self._peer.ask("metrics_page")
        return page

    async def share_secret(self, secret: ClientSecret) -> None:
        await self._peer.ask("share_secret", secret)

    async def hang_up(self, call_id: str) -> bool:
        return bool(await self._peer.ask("hang_up", call_id))


class Worker:
    """One worker. connections: where the parent hands them over."""

    def __init__(self, config: Config, slots: SharedSlots, peer: Peer, connections: socket.socket) -> None:
        self._config = config
        self._peer = peer
        self._connections = connections
        self._metrics = Metrics()
        self._parent = _Parent(peer, self._metrics)
        self._routes = Routes(config, slots, self._metrics, self._parent)
        self._calls = self._routes.calls
        app = self._routes.app()
        app.add_exception_handler(PeerError, _parent_gone)
        self._http = Http(app, config.server.max_message_bytes)
        self._audiosocket = None
        if config.telephony.audiosocket is not None:
            self._audiosocket = AudioSocketEndpoint(config.telephony.tools, self._calls.open)
        self._taking: set[asyncio.Task[None]] = set()

    def services(self) -> dict[str, Service]:
        """What the parent may ask for."""
        return {
            "metrics": one(self._collect),
            "hang_up": one(self._hang_up),
            "keep_secret": one(self._keep_secret),
            "drain": one(self._calls.drain),
        }

    async def run(self) -> None:
        """Serve until the parent has gone. Raises CommandFailed, PeerError."""
        loop = asyncio.get_running_loop()
        serving = asyncio.create_task(self._http.serve([]), name="http")
        watching = asyncio.create_task(self._parent.monitor(), name="monitor the parent")
        engines = Engines(RemoteRecognizer(self._peer), RemoteLlm(self._peer), RemoteSynthesizer(self._peer))
        loop.add_reader(self._connections, self._take_connection)
        try:
            shedder = self._parent.shedder
            async with started(self._config, engines, self._metrics, shedder) as (services, latency):
                for secret in await self._peer.ask("secrets"):
                    await self._keep_secret(secret)
                self._routes.ready(services)
                await self._peer.ask("ready", latency)
                await self._peer.gone.wait()
                await self._calls.drain(0)
        finally:
            loop.remove_reader(self._connections)
            watching.cancel()
            self._http.should_exit = True
            await serving

    def _take_connection(self) -> None:
        try:
            purpose, descriptors, _, _ = socket.recv_fds(self._connections, 1, 1)
        except BlockingIOError:
            return
        if not descriptors:  # the parent has gone
            asyncio.get_running_loop().remove_reader(self._connections)
            return
        connection = socket.socket(fileno=descriptors[0])
        connection.setblocking(False)
        taking = asyncio.create_task(self._serve_connection(purpose, connection))
        self._taking.add(taking)
        taking.add_done_callback(self._taking.discard)

    async def _serve_connection(self, purpose: bytes, connection: socket.socket) -> None:
        endpoint = self._audiosocket if purpose == AUDIOSOCKET else self._http
        assert endpoint is not None  # the parent listens for what is configured
        with suppress(OSError):  # whoever called has gone meanwhile
            await endpoint.take(connection)

    async def _collect(self, _: None) -> Any:
        return list(self._metrics.registry.collect())

    async def _hang_up(self, call_id: str) -> bool:
        return self._routes.webrtc.end(call_id)

    async def _keep_secret(self, secret: ClientSecret) -> None:
        self._routes.keep_secret(secret)


async def _parent_gone(_: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 503)


async def _work(slot: int, link: int, connections: int, counts: int) -> None:
    services: dict[str, Service] = {}
    loop = asyncio.get_running_loop()
    _, peer = await loop.create_unix_connection(
        lambda: Peer(services, opens_even=False), sock=socket.socket(fileno=link)
    )
    handed_over = socket.socket(fileno=connections)
    handed_over.setblocking(False)
    try:
        config: Config = await peer.ask("config")
        configure_log(config.log.format, config.log.level)
        structlog.contextvars.bind_contextvars(worker=slot)
        server = config.server
        slots = SharedSlots(counts, server.max_calls, server.workers, slot)
        worker = Worker(config, slots, peer, handed_over)
        services.update(worker.services())
        await worker.run()
    except CommandFailed as failure:
        with suppress(PeerError):
            await peer.ask("failed", str(failure))
        sys.exit(1)
    except PeerError:
        sys.exit(1)  # the parent has gone, or is going
    finally:
        peer.close()


def main(slot: int, link: int, connections: int, counts: int) -> None:
    """Run as the worker of that slot, with descriptors that its parent made.

    Signals reach the whole process group, but only the parent knows when to end: its connection closes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    uvloop.run(_work(slot, link, connections, counts))
