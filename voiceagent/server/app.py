"""The server in one process, from the first engine to start to the last call to end."""

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
from voiceagent.server.descriptors import raise_limit
from voiceagent.server.ending import STOPPING, heed_no_signals, run_until_all_end, stop_on_signals
from voiceagent.server.followed_call import Following
from voiceagent.server.http import Http
from voiceagent.server.kept_calls import keeping
from voiceagent.server.load import ProcessLoad, load_report
from voiceagent.server.parts import PartsMonitor
from voiceagent.server.routes import Routes
from voiceagent.server.sharing import Gateway
from voiceagent.server.startup import build_engines, posting, started
from voiceagent.server.status import Judged, Triage, health, ready_line
from voiceagent.server.supervisor import Supervisor
from voiceagent.server.traces import exporting, new_exporter
from voiceagent.telemetry.event_loop import LoopMonitor
from voiceagent.telemetry.gpu import watch_gpus
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.metrics import Metrics, render
from voiceagent.transports.realtime.sidebands.messages import Relayed, not_found
from voiceagent.transports.sockets import listen
from voiceagent.transports.telephony.audiosocket import audiosocket

log = structlog.get_logger()


class Server:
    """One process, a `WholeServer` of its own. Raises ConfigError where the configuration cannot be used."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._metrics = Metrics()
        self._llm_monitor = LlmMonitor(self._metrics.llm)
        watch_gpus(self._metrics.registry)
        self._engines = build_engines(config, self._llm_monitor, self._metrics)
        self._parts = PartsMonitor(self._metrics, self._engines, self._llm_monitor, self._other_troubles)
        self._loop = LoopMonitor(self._metrics.registry, self._loop_stalled)
        self._triage = Triage(self._collect)
        self._slots = LocalSlots(config.server.max_calls)
        self._load = ProcessLoad(self._loop, self._slots, config.server.max_loop_lag_s, self._transcribing)
        self._exporter = new_exporter(config, self._metrics)
        following = Following() if self._exporter is None else Following(self._exporter.send)
        self._routes = Routes(config, self._slots, self._metrics, self, following)
        self._calls = self._routes.calls
        self._gateway = Gateway(config, self._told_load, self._routes.shared, self._metrics)

    def app(self) -> Starlette:
        """The ASGI application."""
        return self._routes.app()

    async def run(self, announce: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT, and then until the calls are over, or a second signal.

        Raises CommandFailed.

        announce: given one line once calls are taken: the address, the engines and the warm-up's latencies.
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
                log.info("draining", calls=len(self._calls), patience_s=server.drain_s)
                await self._calls.drain(server.drain_s)
        except asyncio.CancelledError:
            if not stopped.is_set():
                raise
        finally:
            heed_no_signals()
            http.stop()
            await serving

    @asynccontextmanager
    async def taking_calls(self) -> AsyncIterator[dict[str, float]]:
        """Take calls for the length of the block, at whose end those that go on are ended; gives the seconds
        of each stage of the warm-up turn. Raises CommandFailed.
        """
        telephony = self._config.telephony
        async with (
            started(self._config, self._engines, self._metrics, self.shedder) as (services, latency),
            keeping(self._routes.kept),
            posting(self._routes.webhooks),
            exporting(self._exporter, self._config.otlp.metrics_s, self._collect),
            self._routes.sharing(self._gateway),
            audiosocket(telephony.audiosocket, telephony.tools, self._calls.open, self._config.limits),
        ):
            monitoring = [
                asyncio.create_task(self._llm_monitor.run(lambda: self._slots.answered), name="LLM monitor"),
                asyncio.create_task(self._parts.run(), name="parts monitor"),
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
        """What is given up while there is too much to do."""
        return self._llm_monitor.shedder

    def refusal(self, calls: int, answered: int | None) -> Refusal | None:
        """See `WholeServer`."""
        late = self._load.refusal(calls)
        return late if late is not None or answered is None else self._llm_monitor.refusal(answered)

    async def load(self) -> dict[str, Any]:
        """The body of `GET /load`."""
        return self._told_load()

    def _told_load(self) -> dict[str, Any]:
        monitor, max_lag_s = self._llm_monitor, self._config.server.max_loop_lag_s
        outlook = monitor.outlook(self._slots.answered)
        return load_report(self._calls.state, self._slots, max_lag_s, monitor.predicted_ttft_s, outlook)

    async def health(self) -> dict[str, Any]:
        """The body of `GET /health`."""
        calls, troubles = len(self._calls), self._parts.troubles()
        return health(self._config, self._calls.state, calls, self._llm_monitor, troubles, self._loop)

    def _transcribing(self) -> int:
        return self._calls.transcribing

    def _other_troubles(self) -> dict[str, str]:
        return self._routes.troubles()

    def _loop_stalled(self, clock_s: float, lag_s: float) -> None:
        self._routes.loop_stalled(clock_s, lag_s)

    async def _collect(self) -> list[Metric]:
        return list(self._metrics.registry.collect())

    async def triage(self) -> Judged:
        """Why calls are slow."""
        return await self._triage.judge()

    async def metrics_page(self) -> bytes:
        """The page that Prometheus reads."""
        return render(self._metrics.registry)

    async def share_secret(self, secret: ClientSecret) -> None:
        """Nobody else takes calls."""

    async def hang_up(self, asked: CallAsked) -> bool:
        """Nobody else has calls."""
        return False

    async def sideband(
        self, asked: CallAsked, messages: AsyncIterator[str | bytes]
    ) -> AsyncGenerator[Relayed, None]:
        """See `WholeServer`: there is no other process."""
        yield not_found(asked.call_id)


class VoiceApp(Starlette):
    """All routes of a server, as an ASGI application to mount beside one's own.

    Its engines start and end with its `lifespan`. A server runs it by itself; an application that mounts it
    must be given that lifespan, as it is not asked for its own then.
    """

    def __init__(self, server: Server) -> None:
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            self._begun = True
            async with server.taking_calls():
                yield

        self._begun = False
        self.lifespan = asynccontextmanager(lifespan)
        app = server.app()
        super().__init__(routes=app.routes, middleware=app.user_middleware, lifespan=self.lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; it is told once where nobody began the lifespan, as all calls are refused then."""
        if not self._begun and scope["type"] != "lifespan":
            self._begun = True
            log.warning(
                "engines_not_started",
                reason="the application that this is mounted in has another lifespan; give it this one's: "
                "lifespan=voice.lifespan, or `async with voice.lifespan(app)` in its own",
            )
        await super().__call__(scope, receive, send)


def create_app(config: Config | Path | str) -> VoiceApp:
    """The server of a configuration, or of its file, as an ASGI application in one process.

    Some of `[server]` and `[limits]` is the business of whoever serves it: host, port, workers, drain_s,
    max_message_bytes, connections and how long requests may take. Raises ConfigError.
    """
    return VoiceApp(Server(config if isinstance(config, Config) else load(Path(config))))


def _announce(line: str) -> None:
    """Tell on stdout that calls are taken; where nobody reads it, in the log, and the server goes on."""
    try:
        print(line, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where what is left of the line goes
        log.warning("stdout_unread", reason=str(error), line=line)


def serve(config: Config) -> None:
    """Serve until a signal says stop. Raises ConfigError, CommandFailed."""
    configure_log(config.log.format, config.log.level, personal=config.log.personal, apart=True)
    raise_limit()
    server = Supervisor(config) if config.server.workers > 1 else Server(config)
    run_until_all_end(server.run(_announce))
    for number in STOPPING:  # of which the event loop has let go: an end that went well is not killed
        signal.signal(number, signal.SIG_IGN)
