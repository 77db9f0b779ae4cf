"""Callers of a cluster: a load balancer that goes round, and a line that is called again when it is lost."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import httpx
import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from voiceagent.bench.caller import Caller, Saying
from voiceagent.bench.calls import NOISE_RMS, find_questions, saying_of
from voiceagent.bench.crowd import Connection, Crowd
from voiceagent.bench.material import Material, shuffled
from voiceagent.bench.tally import Tally
from voiceagent.bench.websocket_connection import connect_websocket
from voiceagent.bench.wires import TwilioWire, frames_of
from voiceagent.config.tables import load
from voiceagent.demo import MATERIAL
from voiceagent.transports.local_call import FORMAT
from voiceagent.validation.errors import CommandFailed

ROOT = Path(__file__).parents[2]

TURNS = 6
CALLS = int(os.environ.get("VOICEAGENT_CLUSTER_CALLS", "40"))


class Callers:
    """`CALLS` phone calls at once, over whichever gateway takes them. at: the calls of each so far."""

    def __init__(self, addresses: list[str]) -> None:
        self._turn = cycle(addresses)
        self._wire = TwilioWire()
        self._random = Random(1)
        self.tally = Tally()
        self.at: Counter[str] = Counter()
        self.refused = 0
        self._sayings: list[Saying] = []
        self._silence: tuple[bytes, ...] = ()
        self.crowd = Crowd(CALLS, self._connect, self._new_caller, time.monotonic)

    async def learn(self) -> None:
        """Have what they say spoken."""
        voice = load(ROOT / "configs/demo.toml")
        questions = (await find_questions((), voice, Material(MATERIAL)))[:12]
        self._sayings = [saying_of(self._wire, question) for question in questions]
        noise = np.random.default_rng(1).normal(0, NOISE_RMS, FORMAT.rate_hz).astype(np.int16)
        self._silence = frames_of(self._wire, noise)

    @asynccontextmanager
    async def calling(self, ramp_s: float = 8.0) -> AsyncIterator[None]:
        """All call, for the length of the block; it begins when all have begun."""
        task = asyncio.create_task(self.crowd.run(ramp_s))
        try:
            await asyncio.sleep(ramp_s + 2.0)
            yield
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def talk(self, seconds: float) -> None:
        """Go on so long."""
        await asyncio.sleep(seconds)

    def _new_caller(self, now_s: float) -> Caller:
        return Caller(
            now_s, shuffled(self._sayings, self._random), self._silence, TURNS, self._random, self.tally
        )

    async def _connect(self) -> Connection:
        """As a phone provider does: it asks the webhook of the next gateway, and then the one after that."""
        for _ in range(100):
            try:
                stream = await self._ask(next(self._turn))
                host, port = stream.split(":")
                connection = await connect_websocket(self._wire, (host, int(port)), time.monotonic)
            except (httpx.HTTPError, OSError, CommandFailed):
                self.refused += 1
                await asyncio.sleep(0.2)
                continue
            self.at[stream] += 1
            return connection
        raise CommandFailed("no gateway takes a call")

    async def _ask(self, address: str) -> str:
        async with httpx.AsyncClient(trust_env=False, timeout=5.0) as http:
            answer = await http.post(f"http://{address}/telephony/twilio/voice", data={"From": "+15550001"})
        stream = ElementTree.fromstring(answer.raise_for_status().text).find("./Connect/Stream")
        assert stream is not None
        return stream.attrib["url"].removeprefix("ws://").partition("/")[0]


async def counted(addresses: list[str], name: str) -> Counter[str]:
    """The sum of a metric over gateways, by its last label."""
    found: Counter[str] = Counter()
    async with httpx.AsyncClient(trust_env=False, timeout=20.0) as http:
        for address in addresses:
            page = (await http.get(f"http://{address}/metrics")).text
            for family in text_string_to_metric_families(page):
                for sample in family.samples:
                    if sample.name == name:
                        found[sample.labels.get("reason", "")] += int(sample.value)
    return found
