"""Call worker: serves connections that the supervisor passes to it, by the supervisor's engines."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from contextlib import suppress
from typing import Any, NamedTuple, cast

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from audio.recognizers import Recognizer
from audio.synthesizers import Synthesizer
from voiceagent.access.access_control import CallAsked
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.access.slots import SharedSlots
from voiceagent.config.tables import Config
from voiceagent.engines.catalogue import Stage
from voiceagent.engines.engines import Engines
from voiceagent.engines.supervisor_engines import SupervisorLlm, SupervisorRecognizer, SupervisorSynthesizer
from voiceagent.processes.messages import Failed, Ready, RpcError
from voiceagent.processes.parent import Parent
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import Service, single_answer
from voiceagent.server.call_opener import log_to_stderr
from voiceagent.server.call_progress import CallReporting
from voiceagent.server.descriptors import DescriptorShortage, nearly_out
from voiceagent.server.ending import STOPPING, run_until_all_end
from voiceagent.server.engine_building import build_recognizer, build_synthesizer
from voiceagent.server.http import Http
from voiceagent.server.kept_calls import recording_calls
from voiceagent.server.load import ProcessLoad
from voiceagent.server.routes import Routes
from voiceagent.server.startup import posting_webhooks, started
from voiceagent.server.supervisor_client import SupervisorClient
from voiceagent.telemetry.event_loop import LoopMonitor
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.telephony.audiosocket import AudioSocketEndpoint
from voiceagent.transports.telephony.outbound.campaigns import dialing
from voiceagent.validation.errors import CommandFailed

log = structlog.get_logger()

HTTP, AUDIOSOCKET = b"h", b"a"
"""Purposes of a connection that is passed over."""
RETRY_S = 0.1
"""Retry interval of a worker without free descriptors."""


class WorkerTask(NamedTuple):
    """Configuration and number of a worker. own: stages with engines of its own; the others are shared."""

    config: Config
    number: int
    own: frozenset[Stage]


class CallWorker:
    """A process that serves a part of the calls. connections: the socket over which they come."""

    def __init__(
        self, task: WorkerTask, slots: SharedSlots, supervisor: Parent, connections: socket.socket
    ) -> None:
        self._config = config = task.config
        self._parent = supervisor
        self._connection = supervisor.connection
        self._connections = connections
        self._metrics = Metrics()
        self._loop = LoopMonitor(self._metrics.registry, self._loop_stalled)
        self._load = ProcessLoad(self._loop, slots, config.server.max_loop_lag_s, self._transcribing)
        self._supervisor = SupervisorClient(supervisor, self._metrics, self._load)
        client = self._supervisor
        send_spans = client.send_spans if config.otlp.endpoint else None
        reporting = CallReporting(send_spans, client.report_progress, client.hand_over)
        self._routes = Routes(config, slots, self._metrics, client, reporting)
        self._calls = self._routes.calls
        self._engines = engines_of_worker(task, supervisor.connection, self._metrics)
        app = self._routes.app()
        app.add_exception_handler(RpcError, _supervisor_gone)
        self._http = Http(app, config.server.max_message_bytes, config.limits)
        self._audiosocket = None
        if config.telephony.audiosocket is not None:
            self._audiosocket = AudioSocketEndpoint(config.telephony.tools, self._calls.open, config.limits)
        self._accepting: set[asyncio.Task[None]] = set()
        self._shortage = DescriptorShortage()

    def services(self) -> dict[str, Service]:
        """Return the services for the supervisor."""
        return {
            "metrics": single_answer(self._collect),
            "hang_up": single_answer(self._hang_up),
            "has_call": single_answer(self._has_call),
            "sideband": self._routes.sidebands.serve_stream,
            "has_phone_call": single_answer(self._has_phone_call),
            "phone_stream": self._routes.phone_streams.serve_stream,
            "keep_secret": single_answer(self._keep_secret),
            "problems": single_answer(self._problems),
            "drain": single_answer(self._calls.drain),
        }

    async def run(self) -> None:
        """Serve until the supervisor is gone. Raises CommandFailed, RpcError."""
        loop = asyncio.get_running_loop()
        serving = asyncio.create_task(self._http.serve([]), name="http")
        supervision = self._config.timeouts.of_workers()
        monitoring = [
            asyncio.create_task(self._supervisor.monitor(), name="monitor the LLM"),
            asyncio.create_task(self._parent.monitor(supervision), name="monitor the supervisor"),
            asyncio.create_task(self._loop.run(), name="monitor the loop"),
        ]
        connection, engines = self._connection, self._engines
        loop.add_reader(self._connections, self._accept_connection)
        try:
            shedder = self._supervisor.shedder
            # a restarted worker need not test the engines, as calls wait for it
            known = await connection.ask("engines_work")
            async with (
                started(self._config, engines, self._metrics, shedder, known) as (services, latency),
                recording_calls(self._routes.kept),
                posting_webhooks(self._routes.webhooks),
                dialing(self._routes.dialer),
                self._routes.sharing(),
            ):
                for secret in await connection.ask("secrets"):
                    await self._keep_secret(secret)
                self._routes.ready(services)
                # not before: the CPU use of the start says nothing about calls
                monitoring.append(asyncio.create_task(self._load.run(), name="load"))
                # last, as connections arrive from here on
                connection.notify(Ready(latency))
                await connection.gone.wait()
                await self._calls.drain(0)
        finally:
            loop.remove_reader(self._connections)
            for task in monitoring:
                task.cancel()
            self._http.stop()
            await serving

    def _accept_connection(self) -> None:
        if nearly_out():
            self._wait_for_descriptors()
            return
        try:
            purpose, descriptors, _, _ = socket.recv_fds(self._connections, 1, 1)
        except BlockingIOError:
            return
        if not purpose:  # the supervisor is gone
            asyncio.get_running_loop().remove_reader(self._connections)
            return
        if not descriptors:  # no descriptor was free for it: the kernel closed the connection (unix(7))
            self._shortage.note()
            return
        connection = socket.socket(fileno=descriptors[0])
        connection.setblocking(False)
        accepting = asyncio.create_task(self._serve_connection(purpose, connection))
        self._accepting.add(accepting)
        accepting.add_done_callback(self._accepting.discard)

    def _wait_for_descriptors(self) -> None:
        """Stop accepting until descriptors are free; the supervisor takes back the pending connections."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._connections)
        self._parent.report(full=nearly_out())
        if nearly_out():
            loop.call_later(RETRY_S, self._wait_for_descriptors)
        else:
            loop.add_reader(self._connections, self._accept_connection)

    async def _serve_connection(self, purpose: bytes, connection: socket.socket) -> None:
        endpoint = self._audiosocket if purpose == AUDIOSOCKET else self._http
        assert endpoint is not None  # the supervisor listens only for configured purposes
        with suppress(OSError):  # the client is gone
            await endpoint.take(connection)

    def _transcribing(self) -> int:
        return self._calls.transcribing

    def _loop_stalled(self, clock_s: float, lag_s: float) -> None:
        self._routes.loop_stalled(clock_s, lag_s)

    async def _collect(self, _: None) -> Any:
        return list(self._metrics.registry.collect())

    async def _problems(self, _: None) -> dict[str, str]:
        return self._routes.problems()

    async def _hang_up(self, asked: CallAsked) -> bool:
        return self._routes.end(asked)

    async def _has_call(self, asked: CallAsked) -> bool:
        return self._routes.sidebands.has(asked)

    async def _has_phone_call(self, name: str) -> bool:
        return self._routes.phone_streams.has(name)

    async def _keep_secret(self, secret: ClientSecret) -> None:
        self._routes.keep_secret(secret)


def engines_of_worker(task: WorkerTask, supervisor: RpcConnection, metrics: Metrics) -> Engines:
    """Return the worker's engines: its own ones and proxies for the supervisor's. Raises ConfigError."""
    recognizer: Recognizer = SupervisorRecognizer(supervisor)
    synthesizer: Synthesizer = SupervisorSynthesizer(supervisor)
    if "recognizer" in task.own:
        recognizer = build_recognizer(task.config, metrics)
    if "synthesizer" in task.own:
        synthesizer = build_synthesizer(task.config, metrics)
    return Engines(recognizer, SupervisorLlm(supervisor), synthesizer)


async def _supervisor_gone(_: Request, error: Exception) -> Response:
    log.warning("supervisor_timeout", reason=str(error))
    return PlainTextResponse("the server cannot answer now; try again in a moment", 503)


async def _work(link: int, connections: int, counts: int) -> None:
    services: dict[str, Service] = {}
    handed_over = socket.socket(fileno=connections)
    handed_over.setblocking(False)
    try:
        supervisor = Parent(link, services, nearly_out)
        task = cast("WorkerTask", await supervisor.task())
        config = task.config
        log_to_stderr(config)
        # the logs of all workers are written to one stream
        structlog.contextvars.bind_contextvars(worker=task.number)
        slots = SharedSlots(counts, config.server.max_calls, config.server.workers, task.number)
        worker = CallWorker(task, slots, supervisor, handed_over)
        services.update(worker.services())
        try:
            await worker.run()
        except CommandFailed as failure:
            supervisor.connection.notify(Failed(str(failure)))
            sys.exit(1)
    except RpcError:
        sys.exit(1)  # the supervisor is gone or going


def main(link: int, connections: int, counts: int) -> None:
    """Run as a call worker, with descriptors inherited from the supervisor.

    Signals reach the whole process group, but only the supervisor knows when to end: it then closes the
    connection.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    run_until_all_end(_work(link, connections, counts))
