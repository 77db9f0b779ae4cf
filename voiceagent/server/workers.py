"""Call workers of a server, and the services that the supervisor offers them."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, cast

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from starlette.applications import Starlette

from llmcore.policies.admission import Refusal
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.access.access_control import CallAsked
from voiceagent.access.calls import State
from voiceagent.access.client_secrets import ClientSecret, ClientSecrets
from voiceagent.access.slots import LocalSlots, SharedSlots
from voiceagent.config.tables import Config
from voiceagent.engines.catalogue import Stage
from voiceagent.engines.engines import Engines
from voiceagent.engines.supervisor_engines import ENGINE_ERRORS, SynthesizerFacts, engine_services
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.processes.policies.balance import Balance
from voiceagent.processes.rounds import until_multiple_s
from voiceagent.processes.streams import Service, single_answer
from voiceagent.processes.worker_pool import WorkerPool, WorkerProgram
from voiceagent.server.call_worker import HTTP, WorkerTask
from voiceagent.server.health_monitor import HealthMonitor
from voiceagent.server.http import Http
from voiceagent.server.load import load_report
from voiceagent.server.lost_calls import LostCalls
from voiceagent.server.routes import Routes
from voiceagent.server.status import Triage, TriageResult, health
from voiceagent.server.supervisor_client import LlmStatus
from voiceagent.telemetry.event_loop import LoopMonitor
from voiceagent.telemetry.metrics import Metrics, render
from voiceagent.telemetry.totals import Totals
from voiceagent.transports.limits import TransportLimits
from voiceagent.transports.realtime.sidebands.messages import Relayed, not_found
from voiceagent.transports.relay import FromClient

CONNECTIONS = 32
"""Maximum open connections; the oldest is closed beyond that."""


class BusyResponder:
    """Answers health checks, and refuses calls, over HTTP by `app`; closes all other connections."""

    def __init__(self, app: Starlette, max_message_bytes: int, limits: TransportLimits) -> None:
        self._http = Http(app, max_message_bytes, limits)
        self._answered: deque[asyncio.BaseTransport] = deque()
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Serve until `stop`."""
        await self._http.serve([])

    def stop(self) -> None:
        """End once the open connections have closed."""
        self._http.stop()

    def answer(self, connection: socket.socket, purpose: bytes) -> None:
        """Answer a connection. purpose: as in `call_worker`."""
        if purpose != HTTP:
            connection.close()
            return
        connection.setblocking(False)
        answering = asyncio.create_task(self._serve_connection(connection))
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)

    async def _serve_connection(self, connection: socket.socket) -> None:
        with suppress(OSError):  # the client is gone
            self._answered.append(await self._http.take(connection))
        while len(self._answered) > CONNECTIONS:
            cast("asyncio.WriteTransport", self._answered.popleft()).abort()


LLM_STATUS_S = 0.25
"""Interval at which workers are notified of changes of the LLM's load."""
PROBLEMS_S = 0.5
"""Timeout of a worker's report of its problems."""
ANSWER_S = 2.0
"""Timeout of a worker's metrics; without an answer its previous ones are used."""
FIND_PHONE_CALL_S = 1.0
"""Longest wait for the worker that has a phone call. While a worker hangs, new named calls wait as long."""


class Workers:
    """The `WholeServer` of a supervisor, for requests of the workers and for `busy_responder`, which answers
    connections while no worker can.

    engines: shared by all workers. of_workers: the stages for which each worker has its own engine.
    lost_calls: receives the workers' notifications and deaths. Raises ConfigError.
    """

    def __init__(
        self,
        config: Config,
        engines: Engines,
        of_workers: frozenset[Stage],
        llm_monitor: LlmMonitor,
        metrics: Metrics,
        lost_calls: LostCalls,
    ) -> None:
        self._config, self._engines, self._metrics = config, engines, metrics
        self._llm_monitor, self._lost_calls = llm_monitor, lost_calls
        self.state: State = "starting"
        self.engines_started = asyncio.Event()
        self._secrets = ClientSecrets(config.limits.max_client_secrets)
        number = config.server.workers
        self._counts = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the server
        self._counts.truncate(SharedSlots.size(config.server.max_calls, number))
        self._slots = SharedSlots(self._counts.fileno(), config.server.max_calls, number, worker=0)
        self._totals = Totals()
        # Configuration errors of routes are reported here, once. These routes answer while no worker can.
        self.routes = Routes(config, LocalSlots(0), Metrics(), self)
        self.busy_responder = BusyResponder(self.routes.app(), config.server.max_message_bytes, config.limits)
        self.pool = self._pool([WorkerTask(config, worker, of_workers) for worker in range(number)])
        self.loop = LoopMonitor(metrics.registry)
        self.judging = Triage(self.collect)
        self.health_monitor = HealthMonitor(
            metrics, engines, llm_monitor, self.pool.problems, lambda: {"workers": self.pool.restarts}
        )

    def _pool(self, tasks: list[WorkerTask]) -> WorkerPool:
        program = WorkerProgram(
            "voiceagent.server.call_worker:main",
            tasks,
            self._services(),
            ENGINE_ERRORS,
            self._counts.fileno(),
            self._config.timeouts.of_workers(),
            self._lost_calls.on_notification,
            self._note_lost,
        )
        return WorkerPool(
            program,
            lambda: self._slots.workers,
            Balance(self._config.server.worker_load_threshold, self._config.server.max_loop_lag_s),
            self.busy_responder.answer,
        )

    @property
    def calls(self) -> int:
        """Number of current calls."""
        return self._slots.taken

    @property
    def answered(self) -> int:
        """Number of calls that the LLM answers."""
        return self._slots.answered

    def close(self) -> None:
        """Release the shared counters, after all workers have ended."""
        self._counts.close()

    def _services(self) -> dict[str, Service]:
        return {
            **engine_services(self._engines, self._config.agent.language),
            "synthesizer_facts": single_answer(self._answer_synthesizer),
            "engines_work": single_answer(self._answer_engines_work),
            "secrets": single_answer(self._answer_secrets),
            "llm_status": self._answer_llm_status,
            "health": single_answer(lambda _: self.health()),
            "load": single_answer(lambda _: self.load()),
            "metrics_page": single_answer(lambda _: self.metrics_page()),
            "triage": single_answer(lambda _: self.triage()),
            "share_secret": single_answer(self.share_secret),
            "hang_up": single_answer(self.hang_up),
            "sideband": self.sideband,
            "phone_stream": self.phone_stream,
        }

    async def _answer_synthesizer(self, _: None) -> SynthesizerFacts:
        return SynthesizerFacts.of(self._engines.synthesizer)

    async def _answer_engines_work(self, _: None) -> bool:
        """Return True if a worker has completed the warm-up. Waits until the engines have started."""
        await self.engines_started.wait()
        return self.pool.facts is not None

    async def _answer_secrets(self, _: None) -> list[ClientSecret]:
        return self._secrets.secrets()

    async def _answer_llm_status(
        self, _: None, _items: AsyncGenerator[Any, None]
    ) -> AsyncGenerator[LlmStatus, None]:
        sent: LlmStatus | None = None
        while True:
            # A worker knows itself if a call would be the only one, which is never refused.
            now = LlmStatus(self.shedder.level, self._llm_monitor.outlook(max(1, self._slots.answered)))
            if now != sent:
                sent = now
                yield now
            await asyncio.sleep(until_multiple_s(LLM_STATUS_S, time.monotonic()))

    def _note_lost(self, worker: int, reason: str) -> dict[str, Any]:
        """Handle the death of a worker and its calls."""
        self._slots.clear(worker)
        self._totals.remove(worker)
        return self._lost_calls.lost(worker, reason)

    @property
    def shedder(self) -> LoadShedder:
        """Load shedding, controlled by the LLM monitor."""
        return self._llm_monitor.shedder

    def refusal(self, calls: int, answered: int | None) -> Refusal | None:
        return None if answered is None else self._llm_monitor.refusal(answered)

    async def health(self) -> dict[str, Any]:
        problems = self.health_monitor.problems()
        for of_worker in (await self.pool.ask("problems", wait_s=PROBLEMS_S)).values():
            problems |= {part: problem for part, problem in of_worker.items() if problem}
        slots = self._slots.taken
        body = health(self._config, self.state, slots, self._llm_monitor, problems, self.loop)
        # working engines are of no use if no worker accepts calls
        if body["status"] == "degraded" and not self.pool.ready:
            body["status"] = "unavailable"
        return body | {"workers": self.pool.ready}

    async def load(self) -> dict[str, Any]:
        return self.load_now()

    def load_now(self) -> dict[str, Any]:
        """Return the result of `load`, without waiting."""
        monitor, max_lag_s = self._llm_monitor, self._config.server.max_loop_lag_s
        outlook = monitor.outlook(self._slots.answered)
        return load_report(self.state, self._slots, max_lag_s, monitor.predicted_ttft_s, outlook)

    async def metrics_page(self) -> bytes:
        """Return the page for Prometheus, with the metrics of all workers and of the engines."""
        return render(await self._total())

    async def _total(self) -> CollectorRegistry:
        self._totals.update(await self.pool.ask("metrics", wait_s=ANSWER_S))
        return self._totals.registry(list(self._metrics.registry.collect()))

    async def collect(self) -> list[Metric]:
        """Return the metrics of all workers and of the engines."""
        return list((await self._total()).collect())

    async def triage(self) -> TriageResult:
        return await self.judging.judge()

    async def share_secret(self, secret: ClientSecret) -> None:
        """Make a client secret known to all workers, including future ones."""
        # stored here too: a worker that starts later requests them
        self._secrets.keep(secret, time.monotonic())
        await self.pool.ask("keep_secret", secret, ANSWER_S, starting=True)

    async def sideband(
        self, asked: CallAsked, messages: AsyncIterator[FromClient]
    ) -> AsyncGenerator[Relayed, None]:
        """Attach to a call of one of the workers: see `WholeServer`."""
        relayed = self._relay("has_call", "sideband", asked, messages, ANSWER_S)
        # a tuple as the default of `anext` is a SystemError before Python 3.12.9 (gh-128078)
        first = await anext(relayed, None)
        yield not_found(asked.call_id) if first is None else first
        async for value in relayed:
            yield value

    def phone_stream(self, name: str, messages: AsyncIterator[FromClient]) -> AsyncGenerator[Any, None]:
        """Continue a phone call of one of the workers: see `WholeServer`."""
        return self._relay("has_phone_call", "phone_stream", name, messages, FIND_PHONE_CALL_S)

    async def _relay(
        self, has: str, service: str, asked: Any, messages: AsyncIterator[FromClient], wait_s: float
    ) -> AsyncGenerator[Any, None]:
        """Relay a stream of this service to the worker whose service `has` returns True; empty without."""
        having = await self.pool.find(has, asked, wait_s)
        if having is None:
            return
        async with aclosing(self.pool.stream(having, service, asked, messages)) as values:
            async for value in values:
                yield value

    async def hang_up(self, asked: CallAsked) -> bool:
        """End a call of one of the workers. Return True if one had it."""
        return any((await self.pool.ask("hang_up", asked, ANSWER_S)).values())
