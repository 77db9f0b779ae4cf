"""The server: HTTP and WebSocket on one port, from the first engine to start to the last call to end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial

import structlog
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

from voiceagent import __version__
from voiceagent.access.auth import accepted_keys
from voiceagent.access.calls import Calls
from voiceagent.call import Call, OpenCall
from voiceagent.client import Client
from voiceagent.config.tables import Config
from voiceagent.engines import STAGES, build
from voiceagent.failures import CommandFailed
from voiceagent.llm.watch import LlmWatch
from voiceagent.realtime.admission import Admission
from voiceagent.realtime.http import answering, under_realtime
from voiceagent.realtime.secrets import SecretsEndpoint
from voiceagent.realtime.webrtc import WebRtcEndpoint
from voiceagent.realtime.webrtc_network import network
from voiceagent.realtime.websocket import RealtimeEndpoint
from voiceagent.server.page import Page
from voiceagent.server.startup import started
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.short_way import ShortWay
from voiceagent.telemetry import Metrics, configure_log, render
from voiceagent.telephony.routes import telephony_routes
from voiceagent.telephony.tcp import audiosocket

log = structlog.get_logger()

SEND_BUFFER_BYTES = 131_072
"""What the kernel takes for a connection before ours must wait: about two seconds of PCM."""
SILENT_PEER_MS = 30_000
"""How long sent data may stay unacknowledged before a connection counts as gone."""
PING_S = 5.0
"""Clients are asked so often whether they are still there, and have as long to answer."""
CLOSE_S = 5.0
"""How long connections may take to close once their calls have ended."""


class Server:
    """One server process. Raises ConfigError where the configuration cannot be used."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._keys = accepted_keys(config, os.environ)
        self._network = network(config, os.environ)
        self._settings = config.call_settings()
        self._metrics = Metrics()
        self._llm_watch = LlmWatch(self._metrics.llm)
        self._engines = build(config, self._llm_watch)
        self._calls = Calls(config.server.max_calls, self._metrics.calls.set, self._llm_watch.refusal)
        self._phone_lines = telephony_routes(config, os.environ, self._calls.open)

    def app(self) -> Starlette:
        """The ASGI application."""
        admission = Admission(self._keys, self._config.server.open)
        realtime = RealtimeEndpoint(self._calls.open, admission)
        webrtc = WebRtcEndpoint(self._calls.open, admission, self._network)
        secrets = SecretsEndpoint(admission, self._settings)
        return Starlette(
            routes=[
                Route("/health", self._health),
                Route("/metrics", self._show_metrics),
                WebSocketRoute("/v1/realtime", realtime.serve),
                under_realtime(
                    [
                        Route("/calls", answering(webrtc.call), methods=["POST"]),
                        Route("/calls/{call_id}/hangup", answering(webrtc.hang_up), methods=["POST"]),
                        Route("/client_secrets", answering(secrets.create), methods=["POST"]),
                    ],
                    admission,
                ),
                *self._phone_lines,
                Route("/{path:path}", Page()),
            ]
        )

    async def run(self, announce: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT, and then until the calls are over, or a second signal.

        Raises CommandFailed.

        announce: given one line once calls are taken: the address, the engines and the warm-up's latencies.
        """
        server = self._config.server
        listening = _listen(server.host, server.port)
        http = _Http(_http_config(self._config, self.app()))
        serving = asyncio.create_task(http.serve([listening]), name="http")
        stopped = self._watch_signals()
        try:
            async with (
                started(self._config, self._engines, self._metrics) as (services, latency),
                audiosocket(self._config, self._calls.open),
            ):
                watching = asyncio.create_task(self._llm_watch.run(), name="watch the LLM")
                self._calls.ready(self._opener(replace(services, ladder=self._llm_watch.ladder)))
                announce(_ready_line(self._config, listening, latency))
                try:
                    await stopped.wait()
                    log.info("draining", calls=len(self._calls), patience_s=server.drain_s)
                    await self._calls.drain(server.drain_s)
                finally:
                    watching.cancel()
                    await self._calls.drain(0)  # no call may outlive the engines
        except asyncio.CancelledError:
            if not stopped.is_set():
                raise
        finally:
            http.should_exit = True
            await serving

    def _watch_signals(self) -> asyncio.Event:
        """Set by the first signal. A second one, or one before the server is ready, ends all at once."""
        stopped = asyncio.Event()
        serving = asyncio.current_task()

        def stop() -> None:
            if serving is not None and (stopped.is_set() or self._calls.state == "starting"):
                serving.cancel()
            stopped.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        return stopped

    def _opener(self, services: Services) -> OpenCall:
        def open_call(call_id: str, client: Client, model: str) -> Call:
            settings = replace(self._settings, model=model) if model else self._settings
            return Session(call_id, services, settings, client)

        return open_call

    async def _health(self, _: Request) -> Response:
        state = self._calls.state
        engines = {stage: getattr(self._config, stage).engine for stage in STAGES}
        health = {
            "status": state,
            "engines": engines,
            "calls": len(self._calls),
            "ladder": self._llm_watch.ladder.step.name.lower(),
            "alarms": {name: [asdict(a) for a in found] for name, found in self._llm_watch.alarms().items()},
            "version": __version__,
        }
        return JSONResponse(health, 200 if state == "ready" else 503)

    async def _show_metrics(self, _: Request) -> Response:
        text, content_type = render(self._metrics)
        return Response(text, media_type=content_type)


class _Http(uvicorn.Server):
    """uvicorn without its own signal handlers, which would cut the calls off."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _http_config(config: Config, app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ws=ShortWay,
        ws_max_size=config.server.max_message_bytes,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PING_S,
        ws_per_message_deflate=False,  # sound does not compress, and trying costs time
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=round(CLOSE_S),
    )


def _listen(host: str, port: int) -> socket.socket:
    """A socket on the address; a port in use is known before any engine starts. Raises CommandFailed."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
        # Connections inherit both: a client that stops reading is to fill our bounded queue, not megabytes in
        # the kernel, and one whose network is gone is to be given up.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_PEER_MS)
        return listening
    except OSError as error:
        why = f"port {port} on {host} is in use" if error.errno == errno.EADDRINUSE else str(error)
        raise CommandFailed(f"cannot listen on {host}:{port}: {why}") from error


def _ready_line(config: Config, listening: socket.socket, latency: dict[str, float]) -> str:
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    engines = ", ".join(getattr(config, stage).engine for stage in STAGES)
    stages = ", ".join(f"{stage} {seconds * 1000:.0f}" for stage, seconds in latency.items())
    return f"voiceagent {__version__} on {address} with {engines}; warm-up in ms: {stages}"


def serve(config: Config) -> None:
    """Serve until told to stop by a signal. Raises ConfigError, CommandFailed."""
    configure_log(config.log.format, config.log.level)
    server = Server(config)
    uvloop.run(server.run(partial(print, flush=True)))
