"""Server in many processes: this one listens, runs the engines and supervises the workers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import structlog

from audio.recognizers import RecognizerError
from audio.synthesizers import SynthesizerError
from llmcore.engine import LlmError
from voiceagent.config.tables import Config
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.processes.threads import tune_interpreter
from voiceagent.server.call_worker import AUDIOSOCKET, HTTP
from voiceagent.server.descriptors import Acceptor
from voiceagent.server.ending import Stop, ignore_stop_signals, log_draining, stop_on_signals
from voiceagent.server.engine_building import build_engines
from voiceagent.server.lost_calls import LostCalls
from voiceagent.server.sharing import Gateway
from voiceagent.server.startup import posting_webhooks, webhook_sender
from voiceagent.server.status import ready_line
from voiceagent.server.traces import exporting, new_exporter
from voiceagent.server.workers import Workers
from voiceagent.telemetry.gpu import register_gpu_metrics
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.sockets import listen
from voiceagent.transports.telephony.audiosocket import listen_for_audiosocket
from voiceagent.validation.errors import CommandFailed

log = structlog.get_logger()

END_S = 5.0
"""Time that calls have to close at the end."""


class Supervisor:
    """Starts and ends the components of a server in many processes, in order. Raises ConfigError if the
    configuration is unusable.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        metrics = Metrics()
        self._llm_monitor = LlmMonitor(metrics.llm)
        register_gpu_metrics(metrics.registry)
        engines = build_engines(config, self._llm_monitor, metrics)
        self._engines = engines.shared()
        self._exporter = new_exporter(config, metrics)
        self._webhooks = webhook_sender(config, metrics)
        self._lost_calls = LostCalls(
            config.calls_folder if config.calls.folder else None,
            (lambda spans: None) if self._exporter is None else self._exporter.send,
            self._webhooks,
        )
        self._workers = Workers(
            config, self._engines, engines.worker_stages, self._llm_monitor, metrics, self._lost_calls
        )
        self._pool, self._busy_responder, self._routes = (
            self._workers.pool,
            self._workers.busy_responder,
            self._workers.routes,
        )
        self._gateway = Gateway(config, self._workers.load_now, self._routes.shared, metrics)

    async def run(self, announce: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT, and then until the calls are over, or a second signal.

        Raises CommandFailed. announce: see `voiceagent.server.app.Server`.
        """
        stopped = stop_on_signals(lambda: self._workers.state == "starting")
        busy_responder = asyncio.create_task(self._busy_responder.serve(), name="busy responder")
        otlp = exporting(self._exporter, self._config.otlp.metrics_s, self._workers.collect)
        # before the engines load: a port in use is reported at once
        with self._accepting() as listening:
            # until the last worker is gone: workers send their spans and events to this process
            async with otlp, posting_webhooks(self._webhooks):
                workers = asyncio.create_task(self._pool.run(), name="workers")
                serving = asyncio.create_task(self._serve(listening, announce, stopped), name="serve")
                try:
                    done, _ = await asyncio.wait({workers, serving}, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()
                except asyncio.CancelledError:
                    if not stopped.is_set():
                        raise
                finally:
                    ignore_stop_signals()
                    serving.cancel()
                    await asyncio.wait([serving])
                    await self._end(workers)
                    self._busy_responder.stop()
                    await busy_responder

    async def _serve(self, listening: socket.socket, announce: Callable[[str], None], stopped: Stop) -> None:
        try:
            await self._engines.start()
        except (RecognizerError, LlmError, SynthesizerError) as error:
            raise CommandFailed(f"cannot start: {error}") from error
        # workers wait for this before their warm-up, which needs the engines
        self._workers.engines_started.set()
        tune_interpreter()
        monitoring = [
            asyncio.create_task(self._llm_monitor.run(lambda: self._workers.answered), name="LLM monitor"),
            asyncio.create_task(self._workers.loop.run(), name="loop monitor"),
            asyncio.create_task(self._workers.judging.run(), name="triage"),
        ]
        try:
            await self._pool.complete.wait()
            monitoring.append(asyncio.create_task(self._workers.health_monitor.run(), name="health monitor"))
            self._workers.state = "ready"
            announce(ready_line(self._config, listening, self._pool.facts))
            async with self._routes.sharing(self._gateway):
                await stopped.wait()
                self._workers.state, patience_s = "draining", self._config.server.patience_s(stopped.ctrl_c)
                log_draining(self._workers.calls, patience_s)
                await self._pool.drain(patience_s)
        finally:
            for task in monitoring:
                task.cancel()

    async def _end(self, workers: asyncio.Task[None]) -> None:
        """End workers and engines, in this order: no call may outlive the engines."""
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self._pool.drain(0)
        workers.cancel()
        await asyncio.wait([workers])
        await self._lost_calls.close()
        self._workers.close()
        await self._engines.close()

    @contextmanager
    def _accepting(self) -> Iterator[socket.socket]:
        """Pass connections to the workers. Yields the HTTP socket. Raises CommandFailed."""
        server, audiosocket = self._config.server, self._config.telephony.audiosocket
        listening = [(listen(server.host, server.port), HTTP)]
        acceptors: list[Acceptor] = []
        try:
            if audiosocket is not None:
                listening.append((listen_for_audiosocket(audiosocket), AUDIOSOCKET))
            acceptors += [
                Acceptor(listening_socket, partial(self._pool.hand_over, purpose=purpose))
                for listening_socket, purpose in listening
            ]
            yield listening[0][0]
        finally:
            for acceptor in acceptors:
                acceptor.close()
            for listening_socket, _ in listening:
                listening_socket.close()
