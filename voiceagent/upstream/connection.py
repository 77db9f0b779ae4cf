"""One call's connection to its upstream: made, made again where it is lost, given up."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import random
from typing import Any, ClassVar, Protocol
from urllib.parse import quote

import structlog
from prometheus_client import CollectorRegistry, Counter
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from audio.hosted.server import HostedServer, bearer, reason_of, retry_wait_s
from audio.hosted.websocket import ConnectionLost, opened
from audio.pcm import Samples
from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout
from voiceagent.upstream.config import UpstreamConfig
from voiceagent.upstream.messages import UPSTREAM_HZ, Event, sound_appended

MAX_WAITING = 10_000
"""Pieces of sound and events that wait for a connection; the oldest are dropped. 10 s of sound are 500."""
_OF_A_CALL = ("response.", "input_audio_buffer.")
"""Events that show that an upstream takes part in the call: one that only says hello is not tried for ever.
"""


class UpstreamRefused(Exception):
    """The upstream does not take calls from us, and will not; the text says why."""


@dataclass(eq=False)
class _Server(HostedServer):
    failure: ClassVar[type[Exception]] = UpstreamRefused


class Upstream:
    """The upstream of a server, shared by its calls. Raises ConfigError where its key is not there."""

    def __init__(
        self,
        config: UpstreamConfig,
        environment: Mapping[str, str],
        source: Path,
        registry: CollectorRegistry,
    ) -> None:
        assert config.url is not None
        self.config = config
        key = config.key(environment, source)
        self._headers = bearer(key) if key else {}
        self._server = _Server(
            config.url, api_key_env=config.api_key_env or "", connect_timeout_s=config.connect_timeout_s
        )
        self._connections = Counter(
            "voiceagent_upstream_connections",
            "Connections to the upstream: connected, unreachable, refused, lost.",
            ("outcome",),
            registry=registry,
        )

    def count(self, outcome: str) -> None:
        """Count what became of a connection."""
        self._connections.labels(outcome).inc()

    async def connect(self) -> ClientConnection:
        """A connection. Raises ConnectionLost, or UpstreamRefused where another try would do no better."""
        path = f"realtime?model={quote(self.config.model)}"
        return await opened(self._server, path, self._headers, ping_s=None)


class UpstreamListener(Protocol):
    """Who has the connection. Nothing here waits or raises."""

    def upstream_connected(self) -> None:
        """It is there: what it has to know is sent before anything else."""

    def upstream_sent(self, event: Event) -> None:
        """It has sent an event."""

    def upstream_lost(self) -> None:
        """It has gone, and may come again."""

    def upstream_given_up(self, reason: str) -> None:
        """It will not come any more."""


class UpstreamConnection:
    """Sends what it is given, in order; while there is no connection, sound waits.

    clock: monotonic seconds. max_waiting_s: of that sound the newest part.
    """

    def __init__(
        self, call_id: str, upstream: Upstream, clock: Callable[[], float], max_waiting_s: float
    ) -> None:
        self._log = structlog.get_logger().bind(call=call_id)
        self._upstream = upstream
        self._waiting: deque[Event | Samples] = deque()
        self._waiting_samples = 0
        self._clock = clock
        self._max_waiting_samples = round(max_waiting_s * UPSTREAM_HZ)
        self._connected = False
        self._heard_samples = 0  # for this connection
        self._more = asyncio.Event()

    @property
    def waiting_s(self) -> float:
        """Seconds of sound that wait."""
        return self._waiting_samples / UPSTREAM_HZ

    def send(self, event: Event) -> None:
        """Send an event, behind what waits."""
        self._waiting.append(event)
        if not self._connected and len(self._waiting) > MAX_WAITING:
            self._drop_oldest()
        self._more.set()

    def hear(self, samples: Samples) -> None:
        """Send sound of the caller, [n] at the rate of an upstream."""
        self._waiting.append(samples)
        self._waiting_samples += len(samples)
        self._heard_samples += len(samples)
        while not self._connected and self._waiting_samples > self._max_waiting_samples:
            self._drop_oldest()
        self._more.set()

    def _drop_oldest(self) -> None:
        """A piece of sound, or an event that stands before it."""
        item = self._waiting.popleft()
        if not isinstance(item, dict):
            self._waiting_samples -= len(item)

    def spoken_at_s(self, at_s: float) -> float:
        """When, by the clock, the caller spoke what lies at a position of this connection's sound."""
        return self._clock() - (self._heard_samples / UPSTREAM_HZ - at_s)

    async def run(self, listener: UpstreamListener) -> None:
        """Be connected until cancelled, or given up."""
        failures, reason = 0, ""
        while failures <= self._upstream.config.retries:
            if failures:
                await asyncio.sleep(retry_wait_s(failures, random))
            try:
                connection = await self._upstream.connect()
            except ConnectionLost as error:
                failures, reason = failures + 1, str(error)
                self._tell("unreachable", reason)
                continue
            except UpstreamRefused as error:
                reason = str(error)
                self._tell("refused", reason)
                break
            self._upstream.count("connected")
            try:
                took_part, reason = await self._relay(connection, listener)
            finally:
                await connection.close()
            failures = 1 if took_part else failures + 1
            self._tell("lost", reason)
            listener.upstream_lost()
        listener.upstream_given_up(reason)

    async def _relay(self, connection: ClientConnection, listener: UpstreamListener) -> tuple[bool, str]:
        """Returns when the connection is lost: whether the upstream took part in the call, and why it was
        lost."""
        heard = [item for item in self._waiting if not isinstance(item, dict) or _is_of_sound(item)]
        self._waiting.clear()  # other events were for the connection before this
        self._heard_samples = self._waiting_samples
        self._connected = True
        listener.upstream_connected()
        told = [item for item in self._waiting if isinstance(item, dict)]
        asked = [event for event in told if event["type"] == "response.create"]
        # whoever ends his turns himself is answered to what he said meanwhile
        self._waiting = deque([*(event for event in told if event not in asked), *heard, *asked])
        sending = asyncio.create_task(self._send_waiting(connection), name="to the upstream")
        ping_s = self._upstream.config.connect_timeout_s
        asking = asyncio.create_task(_give_up_silent(connection, ping_s), name="ask the upstream")
        took_part = False
        try:
            async for message in connection:
                event: Any = json.loads(message)
                took_part = took_part or str(event.get("type")).startswith(_OF_A_CALL)
                listener.upstream_sent(event)
            return took_part, "it closed the connection"
        except (ConnectionClosed, ValueError, AttributeError) as error:  # or no JSON object
            silent = asking.done() and asking.exception() is None
            return took_part, f"it answered no ping within {ping_s:g} s" if silent else reason_of(error)
        finally:
            self._connected = False
            sending.cancel()
            asking.cancel()
            await asyncio.gather(sending, asking, return_exceptions=True)

    async def _send_waiting(self, connection: ClientConnection) -> None:
        with suppress(ConnectionClosed):  # told by whoever reads
            while True:
                self._more.clear()
                while self._waiting:
                    item = self._waiting.popleft()
                    if not isinstance(item, dict):
                        self._waiting_samples -= len(item)
                        item = sound_appended(item)
                    await connection.send(json.dumps(item, separators=(",", ":")))
                await self._more.wait()

    def _tell(self, outcome: str, reason: str) -> None:
        self._upstream.count(outcome)
        self._log.warning(f"upstream_{outcome}", reason=reason)


async def _give_up_silent(connection: ClientConnection, ping_s: float) -> None:
    """Break the connection off once a ping was not answered for so long."""
    await unanswered(connection, ping_s)
    connection.transport.abort()


async def unanswered(connection: ClientConnection, ping_s: float) -> None:
    """Ask every `ping_s` whether the upstream is there; returns once it has not answered for as long. A pause
    of this process is not held against it.
    """
    while True:
        await asyncio.sleep(ping_s)
        pong = await connection.ping()
        try:
            async with PauseTolerantTimeout(ping_s):
                await pong
        except TimeoutError:
            return


def _is_of_sound(event: Event) -> bool:
    """Whether it says where in the sound a turn ends, or what of it is dropped."""
    return str(event["type"]).startswith("input_audio_buffer.")
