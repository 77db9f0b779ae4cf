"""A model behind an HTTP API: keys, time limits and retries."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, Protocol, TypeVar

import httpx2

from llmcore.engine import Delta, LlmError, Request, SetupError, Usage
from llmcore.engine_load import EngineLoad
from llmcore.engines.held_back_reply import HELD_BACK, HeldBackReply, cancel
from llmcore.engines.remote_failures import AttemptFailed, BrokenStream
from llmcore.policies.circuit_breaker import Backoff
from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout
from llmcore.text.unopened_thoughts import ThoughtHabit

log = logging.getLogger(__name__)

Result = TypeVar("Result")
EventStream = AbstractAsyncContextManager[AsyncIterator[Any]]
"""Events of one reply, of the type of the client's package."""


class StreamReader(Protocol):
    """Converter of one reply's events to deltas: text at once, tool calls once complete."""

    started: bool
    """True once the model has written anything."""

    @property
    def ended(self) -> bool:
        """True once the server has said why the reply ended: only token counts follow."""

    def push(self, event: Any, /) -> Delta | None:
        """Return the delta in this event, or None. Raises BrokenStream."""

    def finish(self) -> list[Delta]:
        """Return the calls and the last delta. Raises BrokenStream."""
        ...


class HttpClient(Protocol):
    """A client of a vendor's package."""

    async def close(self) -> None:
        """Close its connections."""


Client = TypeVar("Client", bound=HttpClient)

_NO_LIST_STATUSES = frozenset({404, 405, 500, 501})
"""Statuses of a server that is up without a list of models: `transformers serve` fails at it (500) where its
cache folder is missing.
"""
_COUNTS_S = 1.0
"""Longest wait for the token counts of a whole reply: some gateways keep the connection open after it."""
START_S = 15.0
"""Time limit of the server at the start: it may be busy, and no caller waits."""


@dataclass(eq=False)
class RemoteSettings:
    """Keyword arguments of every remote engine, which are keys of its configuration table.

    model: its name at the server. base_url: address of the API. api_key_env: environment variable with the
    key; "" for a server without keys. connect_timeout_s: for the connection. first_token_timeout_s: from the
    start of an attempt to its first word or thought. timeout_s: longest silence after that. retries: further
    attempts after a failure, only while no part of the reply has been passed on. Before each, it waits
    `backoff_s`, doubled up to `max_backoff_s`, with full jitter, but never less than the server's
    Retry-After. If that exceeds `max_backoff_s`, the request fails at once.
    """

    model: str
    base_url: str
    _: KW_ONLY
    api_key_env: str = ""
    connect_timeout_s: float = 2.0
    first_token_timeout_s: float = 8.0
    timeout_s: float = 8.0
    retries: int = 2
    backoff_s: float = 0.2
    max_backoff_s: float = 2.0


@dataclass(eq=False)
class RemoteLlm(RemoteSettings, ABC, Generic[Client]):
    """Base of the engines of remote models. A subclass adapts one API."""

    def __post_init__(self) -> None:
        self._client: Client | None = None
        self._backoff = Backoff(self.backoff_s, self.max_backoff_s)
        self._running = 0
        self._thought_habit = ThoughtHabit()
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self.jitter: Callable[[], float] = random.random

    @property
    def running(self) -> int:
        """Requests open at the server now."""
        return self._running

    def load(self) -> EngineLoad:
        """Return the open requests; the server's own queue is unknown."""
        return EngineLoad(self._running)

    async def start(self) -> None:
        """Read the key and reach the server.

        Raises:
            SetupError: the key is missing or refused.
            LlmError: the server does not answer.
        """
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else "none"
        if not key:
            raise SetupError(
                f"{self.base_url}: the environment variable {self.api_key_env} (api_key_env) is not set"
            )
        self._client = self.new_client(key)
        await self.retry(lambda: self._reach(max(START_S, self.first_token_timeout_s)))

    async def reach(self) -> None:
        """Return once the server has answered one request.

        Raises:
            LlmError: it did not answer.
        """
        try:
            await self._reach(self.first_token_timeout_s)
        except AttemptFailed as failure:
            raise self._error(failure, "") from failure

    async def close(self) -> None:
        """Close the connections; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    @property
    def client(self) -> Client:
        """Client of the API. Raises LlmError before the start."""
        if self._client is None:
            raise SetupError(f"{self.base_url}: the engine is not started")
        return self._client

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply. Closing the generator closes the connection, which aborts the request.

        Raises:
            LlmError: all attempts failed, or the reply broke off.
        """
        deltas, first = await self.retry(lambda: self._open_reply(request))
        async with aclosing(deltas):
            # no retry from here on: spoken words cannot be withdrawn
            if first is not HELD_BACK:
                yield first
            try:
                async for delta in deltas:
                    if delta is not HELD_BACK:
                        yield delta
            except AttemptFailed as failure:
                raise self._error(failure, "") from failure

    async def prefill(self, request: Request) -> Usage | None:
        """Return None: most APIs' caches can only be filled by paying for a reply."""
        return None

    @abstractmethod
    def new_client(self, key: str) -> Client:
        """Return a client without retries."""

    @abstractmethod
    async def list_models(self) -> object:
        """Request the list of models, which is free. Raises the client's exceptions."""

    @abstractmethod
    async def open_stream(self, request: Request) -> EventStream:
        """Request a reply. Raises the client's exceptions."""

    @abstractmethod
    def new_reader(self) -> StreamReader:
        """Return a reader for the events of one reply."""

    @abstractmethod
    def failure_of(self, error: Exception) -> AttemptFailed | None:
        """Convert an exception of the client; None for any other exception."""

    async def retry(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Retry an attempt until it succeeds or must not be repeated. Raises LlmError."""
        failures = 0
        while True:
            try:
                return await attempt()
            except AttemptFailed as failure:
                failures += 1
                retry_after_s = failure.retry_after_s
                worth_waiting = retry_after_s is None or retry_after_s <= self._backoff.max_s
                # no retry if the server asks for a longer wait than a caller has; a fallback may answer
                if not failure.retryable or failures > self.retries or not worth_waiting:
                    tries = f" ({failures} tries)" if failures > 1 else ""
                    raise self._error(failure, tries) from failure
                wait_s = self._backoff.wait_s(failures, self.jitter, retry_after_s)
            await self.sleep(wait_s)

    async def run_attempt(self, limit: PauseTolerantTimeout, work: Awaitable[Result]) -> Result:
        """Await `work`, converting all failures to AttemptFailed."""
        try:
            async with limit:
                return await work
        except TimeoutError:
            raise AttemptFailed(f"no answer within {limit.limit_s:.3g} s") from None
        except (OSError, httpx2.HTTPError) as error:  # raised unconverted inside a stream
            raise AttemptFailed(f"the connection broke: {type(error).__name__} {error}") from error
        except ValueError as error:
            raise AttemptFailed(f"the stream is not JSON: {error}") from error
        except Exception as error:
            if (failure := self.failure_of(error)) is None:
                raise
            raise failure from error

    async def _open_reply(self, request: Request) -> tuple[AsyncGenerator[Delta, None], Delta]:
        """Open a stream and wait for its first delta. Raises AttemptFailed."""
        deltas = self._count_running(request)
        try:
            return deltas, await anext(deltas)
        except BaseException:
            await deltas.aclose()
            raise

    async def _count_running(self, request: Request) -> AsyncGenerator[Delta, None]:
        self._running += 1
        try:
            async with aclosing(self._attempt(request)) as deltas:
                async for delta in deltas:
                    yield delta
        except BrokenStream as error:
            raise AttemptFailed(str(error)) from error
        finally:
            self._running -= 1

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of one attempt. Raises AttemptFailed, BrokenStream."""
        first, further = PauseTolerantTimeout(self.first_token_timeout_s), PauseTolerantTimeout()
        reader, reply = self.new_reader(), HeldBackReply(request, self._thought_habit, self.base_url)
        async with await self.run_attempt(first, self.open_stream(request)) as events:
            while True:
                # one limit for everything before the first token: role and keep-alive events must not extend
                # it
                timeout = further if reader.started else first
                further.restart(self.timeout_s)
                if reader.ended:
                    event = await self._event_after_end(events)
                elif reply.holds_back:
                    arrival = asyncio.ensure_future(anext(events, None))
                    try:
                        if not await reply.in_doubt(arrival):
                            for each in reply.release():
                                yield each
                        event = await self.run_attempt(timeout, arrival)
                    finally:
                        await cancel(arrival)
                else:
                    event = await self.run_attempt(timeout, anext(events, None))
                if event is None:
                    break
                delta = _read(reader, event)
                if delta is not None:
                    for each in reply.read(delta):
                        yield each
                if reply.stopped:  # leaving the block closes the connection, which ends the server's work
                    for each in reply.stop():
                        yield each
                    return
        for delta in reader.finish():
            for each in reply.read(delta):
                yield each

    async def _event_after_end(self, events: AsyncIterator[Any]) -> Any:
        """Return the next event of a whole reply; None if none comes in time, or the connection breaks."""
        try:
            async with PauseTolerantTimeout(_COUNTS_S):
                return await self.run_attempt(PauseTolerantTimeout(), anext(events, None))
        except (TimeoutError, AttemptFailed):
            return None

    async def _reach(self, limit_s: float) -> None:
        """Request the list of models; a server without one counts as reached."""
        try:
            await self.run_attempt(PauseTolerantTimeout(limit_s), self.list_models())
        except AttemptFailed as failure:
            if failure.status in (401, 403):
                raise AttemptFailed(f"{failure}{self.key_advice}", failure.status) from failure
            if failure.status not in _NO_LIST_STATUSES:
                raise
            log.info("no list of models: %s", failure)
        # the clients' packages validate nothing: a web page, or JSON of another form
        except (AttributeError, TypeError, ValueError, KeyError) as error:
            log.info("no list of models: it cannot be read: %r", error)

    @property
    def key_advice(self) -> str:
        """End of an error message about the key: its source."""
        if not self.api_key_env:
            return "; api_key_env names no environment variable with a key"
        return f"; the key is the environment variable {self.api_key_env}'s (api_key_env)"

    def _error(self, failure: AttemptFailed, tries: str) -> LlmError:
        return failure.kind(f"{self.base_url}: {failure}{tries}")


def _read(reader: StreamReader, event: Any) -> Delta | None:
    """Convert an event. Raises BrokenStream, also for an event of an unexpected form."""
    try:
        return reader.push(event)
    except BrokenStream:
        raise
    # the clients' packages validate nothing
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        raise BrokenStream(f"an event cannot be read: {error!r}") from error


def trace_headers(request: Request) -> dict[str, str]:
    """Return the W3C Trace Context header that joins the server's spans to the request's, if it has one."""
    return {"traceparent": request.traceparent} if request.traceparent else {}
