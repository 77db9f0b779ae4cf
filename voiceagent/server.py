"""The server: HTTP and WebSocket on one port, from the first engine that starts to the last call that ends."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import structlog
import uvicorn
from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

from audio.recognizers import RecognizerError
from audio.synthesizers import SynthesizerError
from audio.vad import VadError
from llmcore.engine import LlmError
from voiceagent import __version__
from voiceagent.auth import accepted_keys
from voiceagent.call import Call
from voiceagent.calls import Calls
from voiceagent.client import Client
from voiceagent.config import Config
from voiceagent.engines import STAGES, build
from voiceagent.realtime.websocket import RealtimeEndpoint
from voiceagent.services import Services, prepare
from voiceagent.session import Session
from voiceagent.telemetry import Metrics, configure_logging
from voiceagent.warm_up import WarmUpError, warm_up

log = structlog.get_logger()

CLOSE_S = 5.0
"""How long connections may take to close once their calls have ended."""
START_FAILURES = (RecognizerError, LlmError, SynthesizerError, VadError, WarmUpError)


class ServeError(Exception):
    """The server cannot serve; one line that says why."""


class Server:
    """One server process. Raises ConfigError where the configuration cannot be used."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._keys = accepted_keys(config, os.environ)
        self._settings = config.call_settings()
        self._engines = build(config)
        self._metrics = Metrics()
        self._calls = Calls(config.server.max_calls)

    def app(self) -> Starlette:
        """The ASGI application."""
        realtime = RealtimeEndpoint(self._calls.open, self._keys)
        return Starlette(
            routes=[
                Route("/health", self._health),
                Route("/metrics", self._show_metrics),
                WebSocketRoute("/v1/realtime", realtime.serve),
            ]
        )

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, and then until the calls are over. Raises ServeError."""
        server = self._config.server
        listening = _listen(server.host, server.port)
        http = _Http(_http_config(self._config, self.app()))
        serving = asyncio.create_task(http.serve([listening]), name="http")
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        try:
            await self._start(listening)
            await stopped.wait()
            log.info("draining", calls=len(self._calls), patience_s=server.drain_s)
            await self._calls.drain(server.drain_s)
        finally:
            http.should_exit = True
            await serving
            await self._engines.close()

    async def _start(self, listening: socket.socket) -> None:
        try:
            await self._engines.start()
            services = await prepare(self._config, self._engines, self._metrics)
            latency = await warm_up(replace(services, metrics=Metrics(CollectorRegistry())), self._settings)
        except START_FAILURES as error:
            raise ServeError(f"cannot start: {error}") from error
        self._calls.ready(self._opener(services))
        print(_ready_line(self._config, listening, latency), flush=True)

    def _opener(self, services: Services):
        def open_call(call_id: str, client: Client, model: str) -> Call:
            settings = replace(self._settings, model=model) if model else self._settings
            return Session(call_id, services, settings, client)

        return open_call

    async def _health(self, _: Request) -> Response:
        state = self._calls.state
        engines = {stage: getattr(self._config, stage).engine for stage in STAGES}
        health = {"status": state, "engines": engines, "calls": len(self._calls), "version": __version__}
        return JSONResponse(health, 200 if state == "ready" else 503)

    async def _show_metrics(self, _: Request) -> Response:
        text, content_type = self._metrics.render()
        return Response(text, media_type=content_type)
