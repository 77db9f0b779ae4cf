"""`voiceagent soak`: calls of all kinds for hours, with faults and bad clients, and a verdict."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Literal

import httpx2
import numpy as np
import uvloop
from prometheus_client.parser import text_string_to_metric_families

from voiceagent.bench.caller import Caller, Saying
from voiceagent.bench.calls import NOISE_RMS, find_questions, saying_of
from voiceagent.bench.crowd import Connection, Crowd
from voiceagent.bench.material import Material, shuffled
from voiceagent.bench.server_process import ServerProcess, serve_command, served
from voiceagent.bench.soak_faults import BadClients, ProcessFaults, stop_for_good
from voiceagent.bench.tally import Tally
from voiceagent.bench.webrtc_connection import connect_webrtc
from voiceagent.bench.websocket_connection import connect_websocket
from voiceagent.bench.wires import RealtimeWire, TwilioWire, WebRtcWire, Wire, frames_of
from voiceagent.config.tables import Config
from voiceagent.telemetry.log import configure_log
from voiceagent.transports.local_call import FORMAT, Recording
from voiceagent.validation.errors import CommandFailed

SETTLED_S = 600.0
"""Time after which a server has settled; earlier growth is lazy loading."""
MAX_GROWTH = 0.05
"""Maximum growth of memory, descriptors and tasks after that, from the first samples to the last."""
SLACK = 10
"""Fluctuation of descriptors and tasks allowed in addition."""
JUDGED = 5
"""Number of samples at either end whose medians are compared."""
REACH_S = 15.0
"""Losses within this time after a fault are explained by it: calls recover or end within 10 s, and callers
give a turn up after 5 s without an answer.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Resources of the server; at_s: since the soak began."""

    at_s: float
    rss_bytes: int
    descriptors: int
    tasks: int


@dataclass
class Losses:
    """Losses of callers, by whether a fault explains them. Times are seconds since the soak began."""

    explained: dict[str, int] = field(default_factory=dict)
    unexplained: dict[str, int] = field(default_factory=dict)
    _fault_until_s: float = float("-inf")

    def fault(self, until_s: float) -> None:
        """Record a fault that ends at `until_s`."""
        self._fault_until_s = max(self._fault_until_s, until_s)

    def note(self, what: str, count: int, now_s: float) -> None:
        """Record losses since the last time."""
        lost = self.explained if now_s <= self._fault_until_s + REACH_S else self.unexplained
        if count:
            lost[what] = lost.get(what, 0) + count


def complaints(samples: Sequence[Sample], losses: Losses) -> list[str]:
    """Return the reasons of a failure, [] for none."""
    found = [f"{count} {what} without a fault that explains it" for what, count in losses.unexplained.items()]
    settled = [sample for sample in samples if sample.at_s >= SETTLED_S]
    if len(settled) < 2 * JUDGED:
        return found
    for name, slack in (("rss_bytes", 0), ("descriptors", SLACK), ("tasks", SLACK)):
        first = median(getattr(sample, name) for sample in settled[:JUDGED])
        last = median(getattr(sample, name) for sample in settled[-JUDGED:])
        if last > first * (1 + MAX_GROWTH) + slack:
            found.append(f"{name} grew from {first:.0f} to {last:.0f}, more than {MAX_GROWTH:.0%}")
    return found


SHARES = {"realtime": 0.5, "twilio": 0.3, "webrtc": 0.2}
"""Shares of the calls, by protocol."""
TURNS_A_CALL = (1, 6)
HASTY = 0.3
"""Share of callers who hang up at a random moment."""
HASTY_S = (2.0, 30.0)
RAMP_S = 30.0
BUSY = "busy: "
"""Prefix of the refusal of a call by a busy server (`access/slots.py`)."""
AGAIN_S = 1.0
"""Time after which a refused caller retries."""
TOLD_S = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters. seconds: duration. calls: concurrent ones. calm: without faults and bad
    clients. Others: as in `bench calls`.
    """

    material: Material
    recordings: tuple[Path, ...]
    voice: Config | None
    calls: int
    seconds: float
    workers: int
    calm: bool
    seed: int


class SoakCaller(Caller):
    """A caller who may hang up at any moment. leaves_s: when."""

    leaves_s = float("inf")
    _now_s = 0.0

    def frame(self, now_s: float) -> bytes:
        """Return the next 20 ms."""
        self._now_s = now_s
        return super().frame(now_s)

    @property
    def finished(self) -> bool:
        """True if all turns were spoken and answered, or the caller leaves."""
        return super().finished or self._now_s >= self.leaves_s


def soak(config: Config, plan: Plan) -> None:
    """Run the calls, print a line a minute and the verdict. Raises CommandFailed if it fails; ConfigError."""
    configure_log(config.log.format, "warning")
    found = uvloop.run(_Soak(config, plan).run())
    if found:
        raise CommandFailed("the soak failed: " + "; ".join(found))
    print("the soak passed", flush=True)


class _Soak:
    def __init__(self, config: Config, plan: Plan) -> None:
        self._config, self._plan = config, plan
        self._random = Random(plan.seed)
        self._tallies = {name: Tally() for name in SHARES}
        self._crowds: list[Crowd] = []
        self._refused: Counter[str] = Counter()
        self._losses = Losses()
        self._samples: list[Sample] = []
        self._faults: list[str] = []
        self._told_broken: Counter[str] = Counter()
        self._began_s = 0.0

    async def run(self) -> list[str]:
        """Return the reasons of a failure, [] for none."""
        plan = self._plan
        questions = await find_questions(plan.recordings, plan.voice or self._config, plan.material)
        command = serve_command(self._config.source, plan.calls, plan.workers)
        async with served(command, None) as server:
            self._began_s = time.monotonic()
            work = [self._crowd(name, server, questions).run(RAMP_S) for name in SHARES]
            bad = BadClients(server.host, server.port, Random(plan.seed))
            if not plan.calm:
                work += [bad.run(), ProcessFaults(server.process, Random(plan.seed), self._fault).run()]
            tasks = [asyncio.create_task(part) for part in work]
            try:
                await self._monitor(server, bad, tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
                stop_for_good(server.process)
        return complaints(self._samples, self._losses)

    def _crowd(self, name: str, server: ServerProcess, questions: Sequence[Recording]) -> Crowd:
        silence_s = self._config.turn.silence_s if self._config.turn.detection == "server_vad" else 0.0
        wires: dict[str, Wire] = {
            "realtime": RealtimeWire(silence_s), "twilio": TwilioWire(), "webrtc": WebRtcWire(silence_s)
        }  # fmt: skip
        wire, tally, random = wires[name], self._tallies[name], self._random
        noise = np.random.default_rng(self._plan.seed).normal(0, NOISE_RMS, FORMAT.rate_hz).astype(np.int16)
        silence = frames_of(wire, noise)
        sayings: Iterator[Saying] = shuffled([saying_of(wire, question) for question in questions], random)

        def new_caller(now_s: float) -> Caller:
            caller = SoakCaller(now_s, sayings, silence, random.randint(*TURNS_A_CALL), random, tally)
            if random.random() < HASTY:
                caller.leaves_s = now_s + random.uniform(*HASTY_S)
            return caller

        async def connect() -> Connection:
            address = server.host, server.port
            while True:
                try:
                    if isinstance(wire, WebRtcWire):
                        return await connect_webrtc(wire, address, time.monotonic)
                    return await connect_websocket(wire, address, time.monotonic)
                except (CommandFailed, OSError, httpx2.HTTPError) as error:
                    self._refused["busy" if BUSY in str(error) else "other"] += 1
                    await asyncio.sleep(AGAIN_S)

        crowd = Crowd(max(1, round(SHARES[name] * self._plan.calls)), connect, new_caller, time.monotonic)
        self._crowds.append(crowd)
        return crowd

    @property
    def _now_s(self) -> float:
        return time.monotonic() - self._began_s

    def _fault(self, name: str, seconds: float) -> None:
        self._faults.append(name)
        self._losses.fault(self._now_s + seconds)

    async def _monitor(
        self, server: ServerProcess, bad: BadClients, calling: Sequence[asyncio.Task[None]]
    ) -> None:
        """Record losses every second, so that each meets its fault, and print the progress every minute."""
        lost: Counter[str] = Counter()
        told_s = 0.0
        while self._now_s < self._plan.seconds:
            await asyncio.sleep(1.0)
            if server.process.status() == "zombie":
                raise CommandFailed("the soak failed: the server has ended")
            for part in calling:
                if part.done():
                    part.result()  # raises the callers' failure
            now = self._lost()
            for what, count in now.items():
                self._losses.note(what, count - lost[what], self._now_s)
            lost = now
            self._tell_broken()
            if self._now_s - told_s >= TOLD_S:
                told_s = self._now_s
                await self._tell(server, now, bad)
        await self._tell(server, lost, bad)

    def _lost(self) -> Counter[str]:
        return Counter(
            {
                "missed turns": self._sum("missed"),
                "calls broken off": sum(len(crowd.broken) for crowd in self._crowds),
                "calls refused by a busy server": self._refused["busy"],
                "calls refused": self._refused["other"],
            }
        )

    def _sum(self, field: Literal["turns", "cut_off", "missed", "answered_late"]) -> int:
        return sum(getattr(tally, field) for tally in self._tallies.values())

    def _tell_broken(self) -> None:
        """Print why calls broke off since the last time."""
        reasons = [reason for crowd in self._crowds for reason in crowd.broken]
        for reason, count in (Counter(reasons) - self._told_broken).items():
            print(f"{self._now_s / 60:5.1f} min  broken off, {count}: {reason}", flush=True)
        self._told_broken = Counter(reasons)

    async def _tell(self, server: ServerProcess, lost: Counter[str], bad: BadClients) -> None:
        figures = await _figures(server)
        tasks, lag_s = (
            round(figures.get("voiceagent_tasks", 0)),
            figures.get("voiceagent_loop_lag_seconds", 0),
        )
        sample = Sample(self._now_s, server.memory_bytes(), server.descriptors(), tasks)
        self._samples.append(sample)
        faults, self._faults = ", ".join(self._faults) or "none", []
        print(
            f"{sample.at_s / 60:5.0f} min  calls {figures.get('voiceagent_calls', 0):.0f}"
            f"  turns {self._sum('turns')}  cut {self._sum('cut_off')}"
            f"  answered late {self._sum('answered_late')}  "
            + "  ".join(f"{what} {count}" for what, count in lost.items())
            + f"  RSS {sample.rss_bytes / 1e6:.0f} MB  descriptors {sample.descriptors}  tasks {tasks}"
            f"  loop lag {lag_s * 1000:.0f} ms  bad clients {bad.seen}  faults: {faults}",
            flush=True,
        )


async def _figures(server: ServerProcess) -> dict[str, float]:
    """Return the server's gauges without labels; {} if it does not answer."""
    with suppress(httpx2.HTTPError, ValueError):
        async with httpx2.AsyncClient(trust_env=False, timeout=5.0) as http:
            page = (await http.get(f"http://{server.host}:{server.port}/metrics")).text
        families = text_string_to_metric_families(page)
        return {
            sample.name: sample.value for family in families for sample in family.samples if not sample.labels
        }
    return {}
