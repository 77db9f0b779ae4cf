"""The server of many processes: this one listens, holds the engines and supervises the workers."""

from __future__ import annotations

import asyncio
import gc
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
from voiceagent.server.call_worker import AUDIOSOCKET, HTTP
from voiceagent.server.descriptors import Door
from voiceagent.server.ending import heed_no_signals, stop_on_signals
from voiceagent.server.lost_calls import LostCalls
from voiceagent.server.sharing import Gateway
from voiceagent.server.startup import build_engines, posting, webhook_sender
from voiceagent.server.status import ready_line
from voiceagent.server.traces import exporting, new_exporter
from voiceagent.server.workers import Workers
from voiceagent.telemetry.gpu import watch_gpus
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.sockets import listen
from voiceagent.transports.telephony.audiosocket import listen_for_audiosocket
from voiceagent.validation.errors import CommandFailed

log = structlog.get_logger()

END_S = 5.0
"""How long calls may take to close that are ended at once."""


class Supervisor:
    """Starts and ends what such a server consists of, in order. Raises ConfigError where the configuration
    cannot be used.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        metrics = Metrics()
        self._llm_monitor = LlmMonitor(metrics.llm)
        watch_gpus(metrics.registry)
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
            config, self._engines, engines.of_workers, self._llm_monitor, metrics, self._lost_calls
        )
        self._pool, self._desk, self._routes = self._workers.pool, self._workers.desk, self._workers.routes
        self._gateway = Gateway(config, self._workers.load_now, self._routes.shared, metrics)

    async def run(self, announce: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT, and then until the calls are over, or a second signal.

        Raises CommandFailed. announce: see `voiceagent.server.app.Server`.
        """
        stopped = stop_on_signals(lambda: self._workers.state == "starting")
        desk = asyncio.create_task(self._desk.serve(), name="desk")
        otlp = exporting(self._exporter, self._config.otlp.metrics_s, self._workers.collect)
        # before the engines load: a port that is taken is told at once
        with self._accepting() as listening:
            # until the last worker has gone: they give their spans and their events to this process
            async with otlp, posting(self._webhooks):
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
                    heed_no_signals()
                    serving.cancel()
                    await asyncio.wait([serving])
                    await self._end(workers)
                    self._desk.stop()
                    await desk

    async def _serve(
        self, listening: socket.socket, announce: Callable[[str], None], stopped: asyncio.Event
    ) -> None:
        try:
            await self._engines.start()
        except (RecognizerError, LlmError, SynthesizerError) as error:
            raise CommandFailed(f"cannot start: {error}") from error
        # only now workers are told whether engines work, and warm up: they need them
        self._workers.engines_started.set()
        gc.collect()
        gc.freeze()  # as in `started`
        monitoring = [
            asyncio.create_task(self._llm_monitor.run(lambda: self._workers.answered), name="LLM monitor"),
            asyncio.create_task(self._workers.loop.run(), name="loop monitor"),
            asyncio.create_task(self._workers.judging.run(), name="triage"),
        ]
        try:
            await self._pool.complete.wait()
            monitoring.append(asyncio.create_task(self._workers.parts.run(), name="parts monitor"))
            self._workers.state = "ready"
            announce(ready_line(self._config, listening, self._pool.facts))
            async with self._routes.sharing(self._gateway):
                await stopped.wait()
                self._workers.state, patience_s = "draining", self._config.server.drain_s
                log.info("draining", calls=self._workers.calls, patience_s=patience_s)
                await self._pool.drain(patience_s)
        finally:
            for task in monitoring:
                task.cancel()

    async def _end(self, workers: asyncio.Task[None]) -> None:
        """No call may outlive the engines."""
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
        """Connections are handed to the workers; gives the socket of HTTP. Raises CommandFailed."""
        server, audiosocket = self._config.server, self._config.telephony.audiosocket
        listening = [(listen(server.host, server.port), HTTP)]
        doors: list[Door] = []
        try:
            if audiosocket is not None:
                listening.append((listen_for_audiosocket(audiosocket), AUDIOSOCKET))
            doors += [Door(ear, partial(self._pool.hand_over, purpose=purpose)) for ear, purpose in listening]
            yield listening[0][0]
        finally:
            for door in doors:
                door.close()
            for ear, _ in listening:
                ear.close()
