"""The server of many processes: this one listens, holds the engines and supervises the workers."""

from __future__ import annotations

import asyncio
import gc
import socket
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from audio.recognizers import RecognizerError
from audio.synthesizers import SynthesizerError
from llmcore.engine import LlmError
from llmcore.policies.admission import Refusal
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.access.calls import State
from voiceagent.access.client_secrets import ClientSecret, ClientSecrets
from voiceagent.access.slots import LocalSlots, SharedSlots
from voiceagent.config.tables import Config
from voiceagent.engines.remote import ENGINE_ERRORS, engine_services
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.processes.policies.balance import Balance
from voiceagent.processes.rounds import until_multiple_s
from voiceagent.processes.streams import Service, single_answer
from voiceagent.processes.worker_pool import WorkerPool, WorkerProgram
from voiceagent.server.call_worker import AUDIOSOCKET, HTTP, WorkerTask
from voiceagent.server.descriptors import Door
from voiceagent.server.desk import Desk
from voiceagent.server.ending import heed_no_signals, stop_on_signals
from voiceagent.server.load import load_report
from voiceagent.server.lost_calls import LostCalls
from voiceagent.server.parts import PartsMonitor
from voiceagent.server.routes import Routes
from voiceagent.server.sharing import Gateway, sharing
from voiceagent.server.startup import build_engines, posting, webhook_sender
from voiceagent.server.status import Judged, Triage, health, ready_line
from voiceagent.server.supervisor_client import LlmStatus
from voiceagent.server.traces import exporting, new_exporter
from voiceagent.telemetry.event_loop import LoopMonitor
from voiceagent.telemetry.gpu import watch_gpus
from voiceagent.telemetry.metrics import Metrics, render
from voiceagent.telemetry.totals import Totals
from voiceagent.transports.sockets import listen
from voiceagent.transports.telephony.audiosocket.endpoint import listen_for_audiosocket
from voiceagent.validation.errors import CommandFailed

log = structlog.get_logger()

LLM_STATUS_S = 0.25
"""How often workers are told how busy the LLM is, if that has changed."""
TROUBLES_S = 0.5
"""A worker that takes longer than this to tell what is wrong with it is late, and that is what is wrong."""
ANSWER_S = 2.0
"""How long a worker may take to send its numbers; else those it sent before stand."""
END_S = 5.0
"""How long calls may take to close that are ended at once."""


class Supervisor:
    """The `WholeServer` that workers ask. Raises ConfigError where the configuration cannot be used."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._state: State = "starting"
        self._metrics = Metrics()
        self._llm_monitor = LlmMonitor(self._metrics.llm)
        watch_gpus(self._metrics.registry)
        engines = build_engines(config, self._llm_monitor, self._metrics)
        self._engines = engines.shared()
        self._started = asyncio.Event()
        self._secrets = ClientSecrets(config.limits.max_client_secrets)
        workers = config.server.workers
        self._counts = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the server
        self._counts.truncate(SharedSlots.size(config.server.max_calls, workers))
        self._slots = SharedSlots(self._counts.fileno(), config.server.max_calls, workers, worker=0)
        self._totals = Totals()
        self._exporter = new_exporter(config, self._metrics)
        self._webhooks = webhook_sender(config, self._metrics)
        self._lost_calls = LostCalls(
            config.calls_folder if config.calls.folder else None,
            (lambda spans: None) if self._exporter is None else self._exporter.send,
            self._webhooks,
        )
        self._triage = Triage(self._collect)
        # What is wrong with the routes is reported here, once; while no worker can answer, these say so.
        self._routes = routes = Routes(config, LocalSlots(0), Metrics(), self)
        self._desk = Desk(routes.app(), config.server.max_message_bytes, config.limits)
        tasks = [WorkerTask(config, number, engines.of_workers) for number in range(workers)]
        self._pool = self._worker_pool(tasks)
        self._loop = LoopMonitor(self._metrics.registry)
        self._parts = PartsMonitor(
            self._metrics,
            self._engines,
            self._llm_monitor,
            self._pool.troubles,
            lambda: {"workers": self._pool.restarts},
        )
        self._gateway = Gateway(config, self._told_load, routes.shared, self._metrics)

    def _worker_pool(self, tasks: list[WorkerTask]) -> WorkerPool:
        """The workers that are to be, and what one of them is chosen by."""
        program = WorkerProgram(
            "voiceagent.server.call_worker:main",
            tasks,
            self._services(),
            ENGINE_ERRORS,
            self._counts.fileno(),
            self._config.supervision.of_workers(),
            self._lost_calls.told,
            self._note_lost,
        )
        return WorkerPool(
            program,
            lambda: self._slots.workers,
            Balance(self._config.server.worker_load_threshold, self._config.server.max_loop_lag_s),
            self._desk.answer,
        )

    async def run(self, announce: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT, and then until the calls are over, or a second signal.

        Raises CommandFailed. announce: see `voiceagent.server.app.Server`.
        """
        stopped = stop_on_signals(lambda: self._state == "starting")
        desk = asyncio.create_task(self._desk.serve(), name="desk")
        otlp = exporting(self._exporter, self._config.otlp.metrics_s, self._collect)
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
        self._started.set()
        gc.collect()
        gc.freeze()  # as in `started`
        monitoring = [
            asyncio.create_task(self._llm_monitor.run(lambda: self._slots.taken), name="LLM monitor"),
            asyncio.create_task(self._loop.run(), name="loop monitor"),
            asyncio.create_task(self._triage.run(), name="triage"),
        ]
        try:
            await self._pool.complete.wait()
            monitoring.append(asyncio.create_task(self._parts.run(), name="parts monitor"))
            self._state = "ready"
            announce(ready_line(self._config, listening, self._pool.facts))
            async with sharing(self._routes, self._gateway):
                await stopped.wait()
                self._state, patience_s = "draining", self._config.server.drain_s
                log.info("draining", calls=self._slots.taken, patience_s=patience_s)
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
        self._counts.close()
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

    def _services(self) -> dict[str, Service]:
        """What workers may ask for."""
        return {
            **engine_services(self._engines, self._config.agent.language),
            "rate_hz": single_answer(self._answer_rate),
            "engines_work": single_answer(self._answer_engines_work),
            "secrets": single_answer(self._answer_secrets),
            "llm_status": self._answer_llm_status,
            "health": single_answer(lambda _: self.health()),
            "load": single_answer(lambda _: self.load()),
            "metrics_page": single_answer(lambda _: self.metrics_page()),
            "triage": single_answer(lambda _: self.triage()),
            "share_secret": single_answer(self.share_secret),
            "hang_up": single_answer(self.hang_up),
        }

    async def _answer_rate(self, _: None) -> int:
        return self._engines.synthesizer.rate_hz

    async def _answer_engines_work(self, _: None) -> bool:
        """Once they have started: a worker has shown that they do, and one that is started later need not
        wait for them to work.
        """
        await self._started.wait()
        return self._pool.facts is not None

    async def _answer_secrets(self, _: None) -> list[ClientSecret]:
        return self._secrets.kept()

    async def _answer_llm_status(
        self, _: None, _items: AsyncGenerator[Any, None]
    ) -> AsyncGenerator[LlmStatus, None]:
        sent: LlmStatus | None = None
        while True:
            # A worker knows itself whether a call would be the only one, which is never refused.
            now = LlmStatus(self.shedder.level, self._llm_monitor.outlook(max(1, self._slots.taken)))
            if now != sent:
                sent = now
                yield now
            await asyncio.sleep(until_multiple_s(LLM_STATUS_S, time.monotonic()))

    def _note_lost(self, worker: int, reason: str) -> dict[str, Any]:
        """A worker has died, and its calls with it."""
        self._slots.clear(worker)
        self._totals.remove(worker)
        return self._lost_calls.lost(worker, reason)

    @property
    def shedder(self) -> LoadShedder:
        """What is given up while there is too much to do."""
        return self._llm_monitor.shedder

    def refusal(self, calls: int) -> Refusal | None:
        """Why one more call would not be served in time, if it would not; counted."""
        return self._llm_monitor.refusal(calls)

    async def health(self) -> dict[str, Any]:
        """The body of `GET /health`."""
        troubles = self._parts.troubles()
        for of_worker in (await self._pool.ask("troubles", wait_s=TROUBLES_S)).values():
            troubles |= {part: trouble for part, trouble in of_worker.items() if trouble}
        slots = self._slots.taken
        body = health(self._config, self._state, slots, self._llm_monitor, troubles, self._loop)
        # engines that work are of no use without anybody to take calls
        if body["status"] == "degraded" and not self._pool.ready:
            body["status"] = "unavailable"
        return body | {"workers": self._pool.ready}

    async def load(self) -> dict[str, Any]:
        """The body of `GET /load`."""
        return self._told_load()

    def _told_load(self) -> dict[str, Any]:
        monitor, max_lag_s = self._llm_monitor, self._config.server.max_loop_lag_s
        outlook = monitor.outlook(self._slots.taken)
        return load_report(self._state, self._slots, max_lag_s, monitor.predicted_ttft_s, outlook)

    async def metrics_page(self) -> bytes:
        """The page that Prometheus reads: the numbers of all workers and of the engines."""
        return render(await self._total())

    async def _total(self) -> CollectorRegistry:
        self._totals.update(await self._pool.ask("metrics", wait_s=ANSWER_S))
        return self._totals.registry(list(self._metrics.registry.collect()))

    async def _collect(self) -> list[Metric]:
        return list((await self._total()).collect())

    async def triage(self) -> Judged:
        """Why calls are slow."""
        return await self._triage.judge()

    async def share_secret(self, secret: ClientSecret) -> None:
        """Make a key known to all workers, those that will be started later too."""
        # here too: a worker that is started later asks for them
        self._secrets.keep(secret, time.time())
        await self._pool.ask("keep_secret", secret, ANSWER_S, starting=True)

    async def hang_up(self, call_id: str) -> bool:
        """End a call, whichever worker has it; whether one had it."""
        return any((await self._pool.ask("hang_up", call_id, ANSWER_S)).values())
