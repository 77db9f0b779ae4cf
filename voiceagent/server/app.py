"""Server in one process, from the start of the engines to the end of the last call."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog
from prometheus_client.metrics_core import Metric
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from llmcore.policies.admission import Refusal
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.access.access_control import CallAsked
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.access.slots import LocalSlots
from voiceagent.config.tables import Config, load
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.server.call_opener import log_to_stderr
from voiceagent.server.call_progress import CallReporting
from voiceagent.server.descriptors import raise_limit
from voiceagent.server.ending import (
    STOPPING,
    ignore_stop_signals,
    log_draining,
    run_until_all_end,
    stop_on_signals,
)
from voiceagent.server.engine_building import build_engines
from voiceagent.server.health_monitor import HealthMonitor
from voiceagent.server.http import Http
from voiceagent.server.kept_calls import recording_calls
from voiceagent.server.load import ProcessLoad, load_report
from voiceagent.server.routes import Routes
from voiceagent.server.sharing import Gateway
from voiceagent.server.startup import posting_webhooks, started
from voiceagent.server.status import Triage, TriageResult, health, ready_line
from voiceagent.server.supervisor import Supervisor
from voiceagent.server.traces import exporting, new_exporter
from voiceagent.telemetry.event_loop import LoopMonitor
from voiceagent.telemetry.gpu import register_gpu_metrics
from voiceagent.telemetry.metrics import Metrics, render
from voiceagent.transports.realtime.sidebands.messages import Relayed, not_found
from voiceagent.transports.relay import FromClient
from voiceagent.transports.sockets import listen
from voiceagent.transports.telephony.audiosocket import audiosocket
from voiceagent.transports.telephony.outbound.campaigns import dialing
from voiceagent.transports.telephony.resuming import nowhere

log = structlog.get_logger()


class Server:
    """The server in one process; its own `WholeServer`. Raises ConfigError for an unusable configuration."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._metrics = Metrics()
        self._llm_monitor = LlmMonitor(self._metrics.llm)
        register_gpu_metrics(self._metrics.registry)
        self._engines = build_engines(config, self._llm_monitor, self._metrics)
        self._health = HealthMonitor(self._metrics, self._engines, self._llm_monitor, self._other_problems)
        self._loop = LoopMonitor(self._metrics.registry, self._loop_stalled)
        self._triage = Triage(self._collect)
        self._slots = LocalSlots(config.server.max_calls)
        self._load = ProcessLoad(self._loop, self._slots, config.server.max_loop_lag_s, self._transcribing)
        self._exporter = new_exporter(config, self._metrics)
        reporting = CallReporting() if self._exporter is None else CallReporting(self._exporter.send)
        self._routes = Routes(config, self._slots, self._metrics, self, reporting)
        self._calls = self._routes.calls
        self._gateway = Gateway(config, self._load_now, self._routes.shared, self._metrics)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return self._routes.app()

    async def run(self, announce: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT, and then until the calls are over, or a second signal.

        Args:
            announce: Called with one line once calls are accepted: address, engines, warm-up latencies.

        Raises:
            CommandFailed: The server cannot start, or ended by an error.
        """
        server = self._config.server
        listening = listen(server.host, server.port)
        http = Http(self.app(), server.max_message_bytes, self._config.limits)
        serving = asyncio.create_task(http.serve([listening]), name="http")
        stopped = stop_on_signals(lambda: self._calls.state == "starting")
        try:
            async with self.taking_calls() as latency:
                announce(ready_line(self._config, listening, latency))
                await stopped.wait()
                patience_s = server.patience_s(stopped.ctrl_c)
                log_draining(len(self._calls), patience_s)
                await self._calls.drain(patience_s)
        except asyncio.CancelledError:
            if not stopped.is_set():
                raise
        finally:
            ignore_stop_signals()
            http.stop()
            await serving

    @asynccontextmanager
    async def taking_calls(self) -> AsyncIterator[dict[str, float]]:
        """Accept calls for the length of the block, and end the remaining calls at its end. Yields the
        seconds of each stage of the warm-up turn. Raises CommandFailed.
        """
        telephony = self._config.telephony
        async with (
            started(self._config, self._engines, self._metrics, self.shedder) as (services, latency),
            recording_calls(self._routes.kept),
            posting_webhooks(self._routes.webhooks),
            dialing(self._routes.dialer),
            exporting(self._exporter, self._config.otlp.metrics_s, self._collect),
            self._routes.sharing(self._gateway),
            audiosocket(telephony.audiosocket, telephony.tools, self._calls.open, self._config.limits),
        ):
            monitoring = [
                asyncio.create_task(self._llm_monitor.run(lambda: self._slots.answered), name="LLM monitor"),
                asyncio.create_task(self._health.run(), name="health monitor"),
                asyncio.create_task(self._loop.run(), name="loop monitor"),
                asyncio.create_task(self._load.run(), name="load"),
                asyncio.create_task(self._triage.run(), name="triage"),
            ]
            self._routes.ready(services)
            try:
                yield latency
            finally:
                for task in monitoring:
                    task.cancel()
                await self._calls.drain(0)  # no call may outlive the engines

    @property
    def shedder(self) -> LoadShedder:
        """Load shedding, controlled by the LLM monitor."""
        return self._llm_monitor.shedder

    def refusal(self, calls: int, answered: int | None) -> Refusal | None:
        late = self._load.refusal(calls)
        return late if late is not None or answered is None else self._llm_monitor.refusal(answered)

    async def load(self) -> dict[str, Any]:
        return self._load_now()

    def _load_now(self) -> dict[str, Any]:
        monitor, max_lag_s = self._llm_monitor, self._config.server.max_loop_lag_s
        outlook = monitor.outlook(self._slots.answered)
        return load_report(self._calls.state, self._slots, max_lag_s, monitor.predicted_ttft_s, outlook)

    async def health(self) -> dict[str, Any]:
        calls, problems = len(self._calls), self._health.problems()
        return health(self._config, self._calls.state, calls, self._llm_monitor, problems, self._loop)

    def _transcribing(self) -> int:
        return self._calls.transcribing

    def _other_problems(self) -> dict[str, str]:
        return self._routes.problems()

    def _loop_stalled(self, clock_s: float, lag_s: float) -> None:
        self._routes.loop_stalled(clock_s, lag_s)

    async def _collect(self) -> list[Metric]:
        return list(self._metrics.registry.collect())

    async def triage(self) -> TriageResult:
        return await self._triage.judge()

    async def metrics_page(self) -> bytes:
        return render(self._metrics.registry)

    async def share_secret(self, secret: ClientSecret) -> None:
        """Do nothing: no other process accepts calls."""

    async def hang_up(self, asked: CallAsked) -> bool:
        """Return False: no other process has calls."""
        return False

    async def sideband(
        self, asked: CallAsked, messages: AsyncIterator[FromClient]
    ) -> AsyncGenerator[Relayed, None]:
        """Refuse: no other process has calls."""
        yield not_found(asked.call_id)

    def phone_stream(self, name: str, messages: AsyncIterator[FromClient]) -> AsyncGenerator[Any, None]:
        """Return an empty stream: no other process has calls."""
        return nowhere(name, messages)


class VoiceApp(Starlette):
    """All routes of a server, as an ASGI application to mount in one's own.

    Its engines start and end with its `lifespan`. A server that runs it directly uses that lifespan; an
    application that mounts it must use the lifespan itself, as mounted applications receive no lifespan
    events.
    """

    def __init__(self, server: Server) -> None:
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            self._begun = True
            async with server.taking_calls():
                yield

        self._begun = False
        self.lifespan = asynccontextmanager(lifespan)
        app = server.app()
        super().__init__(
            routes=app.routes,
            middleware=app.user_middleware,
            exception_handlers=app.exception_handlers,
            lifespan=self.lifespan,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection. Logs once if the lifespan was never begun, as all calls are then refused."""
        if not self._begun and scope["type"] != "lifespan":
            self._begun = True
            log.warning(
                "engines_not_started",
                reason="the application that this is mounted in has another lifespan; give it this one's: "
                "lifespan=voice.lifespan, or `async with voice.lifespan(app)` in its own",
            )
        await super().__call__(scope, receive, send)


def create_app(config: Config | Path | str) -> VoiceApp:
    """Return the server of a configuration as an ASGI application in one process.

    Args:
        config: The configuration, or its file. `host`, `port`, `workers` and `drain_s` of `[server]` have no
            effect: the ASGI server decides them, as well as limits of connections and of message sizes.

    Returns:
        The application, to be mounted with its `lifespan`.

    Raises:
        ConfigError: The configuration is unusable.
    """
    return VoiceApp(Server(config if isinstance(config, Config) else load(Path(config))))


def _announce(line: str) -> None:
    """Print the line on stdout; if stdout is closed, log it and go on."""
    try:
        print(line, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards the rest of the line
        log.warning("worker_output_invalid", reason=str(error), line=line)


def serve(config: Config) -> None:
    """Serve until stopped by a signal.

    Raises:
        ConfigError: The configuration is unusable.
        CommandFailed: The server cannot start, or ended by an error.
    """
    log_to_stderr(config)
    raise_limit()
    server = Supervisor(config) if config.server.workers > 1 else Server(config)
    run_until_all_end(server.run(_announce))
    for number in STOPPING:  # the event loop has released them: a normal end must not become a kill
        signal.signal(number, signal.SIG_IGN)
