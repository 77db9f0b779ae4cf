"""One call's connection to its realtime backend: connects, reconnects, gives up."""

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

import structlog
from prometheus_client import CollectorRegistry
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from audio.hosted.server import (
    ConnectionLost,
    HostedServer,
    bearer,
    describe_error,
    open_websocket,
    retry_wait_s,
)
from audio.pcm import Samples
from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout
from voiceagent.telemetry.metric_table import new_counter
from voiceagent.upstream import messages
from voiceagent.upstream.apis import new_wire
from voiceagent.upstream.config import UpstreamConfig
from voiceagent.upstream.messages import UPSTREAM_HZ, Event, sound_appended

MAX_WAITING = 10_000
"""Maximum chunks and events queued without a connection; the oldest are dropped. 10 s of audio are 500."""
_CALL_EVENTS = ("response.", "input_audio_buffer.", "session.output_", "session.input_transcript.")
"""Event prefixes that show that a backend takes part. One that only greets is not retried for ever."""


_REQUESTS = ("response.create", "session.commentary.append")
"""Events that request speech."""


class _NotStarted(Exception):
    """The backend refused to start a session. The message names the reason."""


class UpstreamRefused(Exception):
    """The backend refuses calls, and will not accept them on retry. The message names the reason."""


@dataclass(eq=False)
class _Server(HostedServer):
    failure: ClassVar[type[Exception]] = UpstreamRefused


class Upstream:
    """The backend of a server, shared by its calls. Raises ConfigError if its key is not set."""

    def __init__(
        self,
        config: UpstreamConfig,
        environment: Mapping[str, str],
        source: Path,
        registry: CollectorRegistry,
    ) -> None:
        assert config.url is not None
        self.config = config
        self.wire = new_wire(config)
        key = config.key(environment, source)
        self._headers = bearer(key) if key else {}
        self._server = _Server(
            config.url, api_key_env=config.api_key_env or "", connect_timeout_s=config.connect_timeout_s
        )
        self._connections = new_counter("upstream_connections", registry)

    def count(self, outcome: str) -> None:
        self._connections.labels(outcome).inc()

    async def connect(self) -> ClientConnection:
        """Connect. Raises ConnectionLost, or UpstreamRefused if a retry would not help."""
        return await open_websocket(self._server, self.wire.path, self._headers, ping_s=None)


class UpstreamListener(Protocol):
    """Owner of the connection. Methods must not block or raise."""

    def upstream_connected(self) -> None:
        """Handle a new connection. Events sent now go before anything queued."""

    def upstream_sent(self, event: Event) -> None:
        """Handle an event of the backend."""

    def upstream_lost(self) -> None:
        """Handle the loss of the connection, which may be restored."""

    def upstream_given_up(self, reason: str) -> None:
        """Handle the end of all attempts to connect."""


class UpstreamConnection:
    """Sends events and audio in order; buffers audio without a connection.

    clock: monotonic seconds. max_waiting_s: length of that buffer; the oldest audio is dropped.
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
        self._heard_samples = 0  # sent to this connection
        self._abandoned = ""
        self._more, self._started = asyncio.Event(), asyncio.Event()

    @property
    def waiting_s(self) -> float:
        """Seconds of audio queued."""
        return self._waiting_samples / UPSTREAM_HZ

    def abandon(self, reason: str) -> None:
        """Close the connection after the event being handled, and connect no more."""
        self._abandoned = reason

    def send(self, event: Event) -> None:
        self._waiting.append(event)
        if not self._connected and len(self._waiting) > MAX_WAITING:
            self._drop_oldest()
        self._more.set()

    def push_audio(self, samples: Samples) -> None:
        """Queue the caller's audio, [n] at `UPSTREAM_HZ`."""
        self._waiting.append(samples)
        self._waiting_samples += len(samples)
        self._heard_samples += len(samples)
        while not self._connected and self._waiting_samples > self._max_waiting_samples:
            self._drop_oldest()
        self._more.set()

    def _drop_oldest(self) -> None:
        """Drop the oldest item, an audio chunk or an event before it."""
        item = self._waiting.popleft()
        if not isinstance(item, dict):
            self._waiting_samples -= len(item)

    def spoken_at_s(self, at_s: float) -> float:
        """Return when, by the clock, the caller spoke the audio at a position of this connection."""
        return self._clock() - (self._heard_samples / UPSTREAM_HZ - at_s)

    async def run(self, listener: UpstreamListener) -> None:
        """Stay connected until cancelled, refused or out of retries."""
        failures, reason = 0, ""
        while failures <= self._upstream.config.retries:
            if failures:
                await asyncio.sleep(retry_wait_s(failures, random))
            try:
                connection = await self._upstream.connect()
            except ConnectionLost as error:
                failures, reason = failures + 1, str(error)
                self._report_outcome("unreachable", reason)
                continue
            except UpstreamRefused as error:
                reason = str(error)
                self._report_outcome("refused", reason)
                break
            self._upstream.count("connected")
            try:
                took_part, reason = await self._relay(connection, listener)
            finally:
                await connection.close()
            failures = 1 if took_part else failures + 1
            self._report_outcome("lost", reason)
            listener.upstream_lost()
            if self._abandoned:
                break
        listener.upstream_given_up(reason)

    async def _relay(self, connection: ClientConnection, listener: UpstreamListener) -> tuple[bool, str]:
        """Relay until the connection is lost. Return whether the backend took part, and the reason."""
        self._begin(listener)
        sending = asyncio.create_task(self._send_waiting(connection), name="to the upstream")
        ping_s = self._upstream.config.connect_timeout_s
        pinging = asyncio.create_task(_give_up_silent(connection, ping_s), name="ask the upstream")
        took_part = False
        try:
            async for message in connection:
                event: Any = messages.with_voice(messages.read_event(message))
                if not self._started.is_set():
                    self._check_started(event)
                took_part = took_part or str(event.get("type")).startswith(_CALL_EVENTS)
                listener.upstream_sent(event)
                if self._abandoned:
                    return took_part, self._abandoned
            return took_part, "it closed the connection"
        except _NotStarted as error:
            return False, str(error)
        except (
            ConnectionClosed,
            ValueError,
            AttributeError,
            KeyError,
            TypeError,
        ) as error:  # all but the first: invalid
            silent = pinging.done() and pinging.exception() is None
            return took_part, f"it answered no ping within {ping_s:g} s" if silent else describe_error(error)
        finally:
            self._connected = False
            sending.cancel()
            pinging.cancel()
            await asyncio.gather(sending, pinging, return_exceptions=True)

    def _begin(self, listener: UpstreamListener) -> None:
        """Put what a new connection gets into its order: the listener's events, then the audio."""
        audio_items = [item for item in self._waiting if not isinstance(item, dict) or _concerns_audio(item)]
        self._waiting.clear()  # other events were for the previous connection
        self._heard_samples = self._waiting_samples
        self._started.clear()
        if not self._upstream.wire.started:
            self._started.set()
        self._connected = True
        listener.upstream_connected()
        events = [item for item in self._waiting if isinstance(item, dict)]
        requests = [event for event in events if event["type"] in _REQUESTS]
        # Requested responses go after the audio: a client with manual turns wants an answer to all of it.
        self._waiting = deque(
            [*(event for event in events if event not in requests), *audio_items, *requests]
        )

    def _check_started(self, event: Event) -> None:
        """Record that the session has started. Raise _NotStarted if the backend refuses its start."""
        if event.get("type") == self._upstream.wire.started:
            self._started.set()
        elif event.get("type") == "error":
            raise _NotStarted(f"it refused the session: {str(event['error'].get('message'))[:200]}")

    async def _send_waiting(self, connection: ClientConnection) -> None:
        with suppress(ConnectionClosed):  # reported by the reader
            while True:
                self._more.clear()
                while self._waiting:
                    item = self._waiting.popleft()
                    if not isinstance(item, dict):
                        self._waiting_samples -= len(item)
                        item = sound_appended(item, self._upstream.wire.audio)
                    await connection.send(json.dumps(item, separators=(",", ":")))
                    if not self._started.is_set() and not await self._has_started(connection):
                        return
                await self._more.wait()

    async def _has_started(self, connection: ClientConnection) -> bool:
        """Wait until the session has started. If it does not in time, abort the connection."""
        try:
            async with PauseTolerantTimeout(self._upstream.config.connect_timeout_s):
                await self._started.wait()
        except TimeoutError:
            connection.transport.abort()
        return self._started.is_set()

    def _report_outcome(self, outcome: str, reason: str) -> None:
        self._upstream.count(outcome)
        self._log.warning(f"upstream_{outcome}", reason=reason)


async def _give_up_silent(connection: ClientConnection, ping_s: float) -> None:
    """Abort the connection if a ping is not answered within `ping_s`."""
    await wait_until_unresponsive(connection, ping_s)
    connection.transport.abort()


async def wait_until_unresponsive(connection: ClientConnection, ping_s: float) -> None:
    """Ping every `ping_s`; return once a pong is overdue by as much. Stalls of this process do not count."""
    while True:
        await asyncio.sleep(ping_s)
        pong = await connection.ping()
        try:
            async with PauseTolerantTimeout(ping_s):
                await pong
        except TimeoutError:
            return


def _concerns_audio(event: Event) -> bool:
    """Return True if the event commits or clears audio, so that its position among the audio matters."""
    return str(event["type"]).startswith("input_audio_buffer.")
