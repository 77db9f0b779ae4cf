"""Measure a cluster on this machine under calls, and simulate the same: waits, refusals, cached tokens.

Gateways are real, replicas are of known speed (`known_llm.py`), callers type, so that a turn is one request.
The inputs of the simulation are measured first: the speed of a replica, one request at a time by a gateway,
and how long a request is on its way while as many calls go on as in the run. It is simulated again and again,
with the calls placed otherwise each time, as the names of real calls are.

    python tests/bench/cluster_run.py [--routing random] [--cache-tokens 6000] ...
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT), str(ROOT / "configs/cluster")]
# ruff: noqa: E402
from local_cluster import LocalCluster
from simulation.cluster import Cluster, Outcome, Simulation
from simulation.gateway import Promise
from simulation.load import Load
from simulation.replica import Machine

BENCH = Path(__file__).parent
SHARED_WORDS = 1_000
"""Words of the beginning that all prompts have: a real agent's instructions."""
PROMPTS, TIMES = (60, 120, 240, 480), 5
"""Words of the turns by which the speed is measured."""
WAY_TURNS = 6
"""Turns of each call by which a request's way is measured; they say one word."""
PLACINGS = 20
MAX_CALLS, MAX_RUNNING, BUDGET_MS = 200, 64, 300

REPLICA = """
[agent]
instructions = "none"
[recognizer]
engine = "fixed_engines:FixedRecognizer"
[synthesizer]
engine = "fixed_engines:FixedSynthesizer"
[llm]
engine = "known_llm:KnownLlm"
prefill_tokens_s = {prefill_tokens_s}
token_s = {token_s}
cache_tokens = {cache_tokens}
"""
GATEWAY = """
[server]
max_calls = {max_calls}
[cluster]
redis_url = "redis://127.0.0.1:6390/0"
[agent]
instructions = "{instructions}"
[recognizer]
engine = "fixed_engines:FixedRecognizer"
[synthesizer]
engine = "fixed_engines:FixedSynthesizer"
[priority]
max_running = {max_running}
[budget]
llm_ttft_ms = {budget_ms}
[llm]
{llm}
"""


@dataclass(slots=True)
class Measured:
    """Measurements of the callers. ttft_s: of each turn. cached, prompt: tokens without the shared prefix."""

    ttft_s: list[float] = field(default_factory=list)
    answer_s: list[float] = field(default_factory=list)
    cached: int = 0
    prompt: int = 0
    refused: int = 0
    failed: list[str] = field(default_factory=list)


class TypingCaller:
    """One call, typed; no two say the same.

    Of the latest turn: ttft_s; gap_s, between two tokens in the mean; read, tokens that were not cached.
    """

    def __init__(self, connection: ClientConnection, measured: Measured) -> None:
        self._connection, self._measured = connection, measured
        self._name = uuid4().hex[:8]  # a prompt may have 131,072 characters
        self.ttft_s = self.gap_s = 0.0
        self.read = 0

    async def begin(self) -> None:
        """Ask for text."""
        await self._send("session.update", session={"type": "realtime", "output_modalities": ["text"]})

    async def turn(self, words: int, tokens: int) -> None:
        """Say so many words, and read the answer."""
        text = {"type": "input_text", "text": " ".join([self._name] * words)}
        await self._send(
            "conversation.item.create", item={"type": "message", "role": "user", "content": [text]}
        )
        asked_s = time.monotonic()
        await self._send("response.create", response={"max_output_tokens": tokens})
        first_s = 0.0
        while (event := json.loads(await self._connection.recv()))["type"] != "response.done":
            if event["type"] == "response.output_text.delta" and not first_s:
                first_s = time.monotonic()
        response = event["response"]
        if not first_s:
            self._measured.failed.append(json.dumps(response["status_details"]))
            return
        self.gap_s = (time.monotonic() - first_s) / (tokens - 1)
        self.ttft_s = first_s - asked_s
        self._measured.ttft_s.append(self.ttft_s)
        self._measured.answer_s.append(time.monotonic() - asked_s)
        usage = response["usage"]
        self.read = usage["input_tokens"] - usage["input_token_details"]["cached_tokens"]
        self._measured.prompt += usage["input_tokens"] - SHARED_WORDS
        self._measured.cached += usage["input_token_details"]["cached_tokens"] - SHARED_WORDS

    async def _send(self, kind: str, **fields: Any) -> None:
        await self._connection.send(json.dumps({"type": kind, **fields}))


class Run:
    """Calls of `load` to gateways: their addresses, in turn."""

    def __init__(self, load: Load, addresses: list[str], seed: int) -> None:
        self._load, self._addresses, self._seed = load, addresses, seed
        self.measured = Measured()

    async def run(self) -> Measured:
        """Until the last call is over."""
        began_s = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number, at_s in enumerate(self._load.arrivals(Random(self._seed))):
                await asyncio.sleep(began_s + at_s - time.monotonic())
                group.create_task(self._call(number))
        return self.measured

    async def _call(self, number: int) -> None:
        """A call as through a load balancer: servers in turn, and the next where one takes no call."""
        began_s = time.monotonic()
        for step in range(len(self._addresses)):
            address = self._addresses[(number + step) % len(self._addresses)]
            try:
                async with connect(f"ws://{address}/v1/realtime?model=bench", compression=None) as connection:
                    await self._talk(TypingCaller(connection, self.measured), number, began_s)
                return
            except InvalidStatus as refused:
                assert refused.response.status_code == 503, refused
        self.measured.refused += 1

    async def _talk(self, call: TypingCaller, number: int, began_s: float) -> None:
        load = self._load
        caller = load.caller(number, self._seed)
        until_s = began_s + load.length_of_call_s(caller)
        await call.begin()
        words = load.turn_tokens
        while True:
            await call.turn(words, load.reply_tokens)
            words = load.turn_tokens - load.reply_tokens
            pause_s = load.next_pause_s(caller)
            if time.monotonic() + pause_s >= until_s:
                return
            await asyncio.sleep(pause_s)


async def measured_machine(addresses: list[str], load: Load, cache_tokens: int) -> Machine:
    """The speed of an idle replica, as callers of a gateway see it, and a request's way under such a load."""
    read, ttft_s, gaps_s, measured = list[int](), list[float](), list[float](), Measured()
    async with connect(f"ws://{addresses[0]}/v1/realtime?model=bench", compression=None) as connection:
        caller = TypingCaller(connection, measured)
        await caller.begin()
        for words in PROMPTS * TIMES:
            await caller.turn(words, load.reply_tokens)
            read.append(caller.read)
            ttft_s.append(caller.ttft_s)
            gaps_s.append(caller.gap_s)
    assert not measured.failed, measured.failed
    # but for the first turns: everything is new then
    slope, _ = np.polyfit(read[len(PROMPTS) :], ttft_s[len(PROMPTS) :], 1)
    token_s = float(np.median(gaps_s))
    ways_s = list[float]()
    async with asyncio.TaskGroup() as group:
        for number in range(load.at_once):
            address = addresses[number % len(addresses)]
            group.create_task(
                ways(address, load, number, lambda ttft_s, read: ways_s.append(ttft_s - read * slope))
            )
    return Machine(
        1 / slope, token_s, request_s=float(np.median(ways_s)) - token_s, cache_tokens=cache_tokens
    )


async def ways(address: str, load: Load, number: int, tell: Callable[[float, int], None]) -> None:
    """Make a call with nearly empty prompts; report the times of its first token and its prompt."""
    caller, measured = load.caller(number, seed=0), Measured()
    await asyncio.sleep(load.next_pause_s(caller))
    async with connect(f"ws://{address}/v1/realtime?model=bench", compression=None) as connection:
        call = TypingCaller(connection, measured)
        await call.begin()
        for turn in range(WAY_TURNS):
            await call.turn(1, load.reply_tokens)
            if turn:  # the first may read the beginning that all share
                tell(call.ttft_s, call.read)
            await asyncio.sleep(load.next_pause_s(caller))
    assert not measured.failed, measured.failed


def write_engines(folder: Path) -> None:
    """Write the engines of known cost into the configurations' folder."""
    for name in ("fixed_engines.py", "known_llm.py", "random_llm.py"):
        shutil.copy(BENCH / name, folder)


def limits() -> dict[str, object]:
    """Return the gateways' configuration apart from the LLM."""
    return {
        "max_calls": MAX_CALLS,
        "max_running": MAX_RUNNING,
        "budget_ms": BUDGET_MS,
        "instructions": " ".join(["please"] * SHARED_WORDS),
    }


def started(folder: Path, options: argparse.Namespace) -> LocalCluster:
    """The cluster, with its Redis."""
    write_engines(folder)
    replica, gateway = folder / "replica.toml", folder / "template.toml"
    speed = {name: getattr(options, name) for name in ("prefill_tokens_s", "token_s")}
    cache = options.cache_tokens + SHARED_WORDS
    replica.write_text(REPLICA.format(cache_tokens=cache, **speed))
    urls = json.dumps([f"http://127.0.0.1:8100/llm-{index}/v1" for index in range(options.replicas)])
    llm = f'engine = "openai"\nmodel = "known"\napi_key_env = ""\nprefix_cache = true\nreplicas = {urls}'
    if options.routing == "random":
        llm = f'engine = "random_llm:RandomLlm"\nurls = {urls}'
    gateway.write_text(GATEWAY.format(llm=llm, **limits()))
    cluster = LocalCluster(folder, options.port, gateway, replica, options.replicas)
    try:
        cluster.start(options.gateways)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def told(options: argparse.Namespace, machine: Machine, measured: Measured, simulated: list[Outcome]) -> None:
    """Print measurement and simulation in two columns: the mean of all simulations, and their range."""
    print(
        f"{options.routing}: an idle replica reads {machine.prefill_tokens_s:.0f} tokens/s, writes one in"
        f" {1000 * machine.token_s:.1f} ms, {1000 * machine.request_s:.1f} ms a request on its way"
    )
    turns = len(measured.ttft_s)
    ours = Outcome(
        turns, Counter(kept=measured.cached), measured.prompt - measured.cached, refused=measured.refused,
        ttft_s=measured.ttft_s, answer_s=measured.answer_s,
    ).figures()  # fmt: skip
    theirs = [outcome.figures() for outcome in simulated]
    print(f"{'':22}{'measured':>12}{'simulated':>12}{'ratio':>8}{'from':>12}{'to':>12}")
    for name, value in ours.items():
        if name not in ("same replica %", "moved", "spilled", "cached, if spilled"):
            told = [figures[name] for figures in theirs]
            mean = sum(told) / len(told)
            ratio = f"{mean / value:8.2f}" if value else f"{'':8}"
            print(f"{name:22}{value:>12,}{mean:>12,.1f}{ratio}{min(told):>12,}{max(told):>12,}")
    print("turns that failed:", len(measured.failed), set(measured.failed) or "")


async def main(options: argparse.Namespace) -> None:
    """Run one, and simulate it."""
    load = Load(
        options.calls,
        options.at_once,
        options.call_s,
        options.pause_s,
        options.turn_tokens,
        options.reply_tokens,
    )
    with tempfile.TemporaryDirectory(prefix="cluster") as name:
        cluster = await asyncio.to_thread(started, Path(name), options)
        try:
            addresses = [cluster.gateway_address(index) for index in range(options.gateways)]
            machine = await measured_machine(addresses, load, options.cache_tokens)
            measured = await Run(load, addresses, options.seed).run()
        finally:
            await asyncio.to_thread(cluster.stop)
    promise = Promise(MAX_CALLS, MAX_RUNNING, ttft_budget_s=BUDGET_MS / 1000)
    simulation = Cluster(options.replicas, machine, options.gateways, options.routing, promise=promise)
    outcomes = [
        Simulation(load, simulation, seed=options.seed, placing=placing).run() for placing in range(PLACINGS)
    ]
    told(options, machine, measured, outcomes)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in {
        "calls": 300, "at-once": 80, "call-s": 60.0, "pause-s": 4.0, "turn-tokens": 120, "reply-tokens": 20,
        "replicas": 2, "gateways": 2, "prefill-tokens-s": 1500.0, "token-s": 0.03, "cache-tokens": 400_000,
        "seed": 1, "port": 18181,
    }.items():  # fmt: skip
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"({value})")
    parser.add_argument("--routing", choices=("affinity", "random"), default="affinity")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main(parsed()))
