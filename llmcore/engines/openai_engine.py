"""Any server that speaks OpenAI's chat completions: OpenAI itself, vLLM, SGLang, TGI, TensorRT-LLM,
gateways."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeVar

import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk

from llmcore.engine import BusyError, Delta, EngineLoad, LlmError, Request, RequestError, Usage
from llmcore.engines.openai_chat import BrokenStream, ChunkReader, request_body
from llmcore.serving.backoff import Backoff

Result = TypeVar("Result")

RETRIED_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
BUSY_STATUSES = frozenset({429, 529})
REFUSED_STATUSES = frozenset({400, 413, 422})


class _Failure(Exception):
    """One try failed. status: of HTTP, None where there was no answer. retry_after_s: what the server asked
    for."""

    def __init__(self, text: str, status: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def retryable(self) -> bool:
        """Whether another try may do better."""
        return self.status is None or self.status in RETRIED_STATUSES


@dataclass(eq=False)
class OpenAISettings:
    """The keyword arguments of OpenAILlm, which are its table in a configuration.

    model: its name there. base_url: the address up to and with `/v1`. api_key_env: the environment variable
    with the key; "" for a server that wants none. connect_timeout_s: for the connection.
    first_token_timeout_s: from a try's begin to its first delta. timeout_s: the longest silence after that.
    retries: further tries after a failure, only while nothing of the reply has been passed on. Between them
    `backoff_s`, doubling up to `max_backoff_s`, with full jitter, but never less than the server's
    Retry-After; where that is beyond `max_backoff_s` the request fails at once. max_tokens_field: newer
    OpenAI models want "max_completion_tokens". extra_body: more fields of the request.
    """

    model: str
    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    connect_timeout_s: float = 2.0
    first_token_timeout_s: float = 8.0
    timeout_s: float = 8.0
    retries: int = 2
    backoff_s: float = 0.2
    max_backoff_s: float = 2.0
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] | None = None


@dataclass(eq=False)
class OpenAILlm(OpenAISettings):
    """A model behind an HTTP endpoint; its keyword arguments are those of OpenAISettings."""

    def __post_init__(self) -> None:
        self._backoff = Backoff(self.backoff_s, self.max_backoff_s)
        self._client: AsyncOpenAI | None = None
        self._running = 0
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self.jitter: Callable[[], float] = random.random

    @property
    def running(self) -> int:
        """Requests that are open at the server now."""
        return self._running

    def load(self) -> EngineLoad:
        """Open requests; how many of them wait at the server is not known."""
        return EngineLoad(self._running)

    async def start(self) -> None:
        """Find the key and reach the server. Raises LlmError."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else "none"
        if not key:
            raise LlmError(
                f"{self.base_url}: the environment variable {self.api_key_env} (api_key_env) is not set"
            )
        self._client = AsyncOpenAI(
            api_key=key,
            base_url=self.base_url,
            timeout=openai.Timeout(None, connect=self.connect_timeout_s),
            max_retries=0,
        )
        await self._persist(self._reach)

    async def close(self) -> None:
        """Close the connections; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply; closing it closes the connection, by which the server stops. Raises LlmError."""
        deltas, first = await self._persist(lambda: self._begin(request))
        async with aclosing(deltas):
            yield first
            try:
                async for delta in deltas:
                    yield delta
            except _Failure as failure:
                raise LlmError(f"{self.base_url}: {failure}") from failure

    async def prefill(self, request: Request) -> Usage | None:
        """Nothing: an endpoint's cache cannot be filled without paying for a reply."""
        return None

    async def _begin(self, request: Request) -> tuple[AsyncGenerator[Delta, None], Delta]:
        """Open a stream and wait for its first delta. Raises _Failure."""
        deltas = self._stream(request)
        try:
            return deltas, await anext(deltas)
        except BaseException:
            await deltas.aclose()
            raise

    async def _stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """One try. Raises _Failure."""
        clock = asyncio.get_running_loop().time
        first_by_s = clock() + self.first_token_timeout_s
        reader = ChunkReader()
        self._running += 1
        try:
            stream = await self._within(self.first_token_timeout_s, self._open(request))
            async with stream:
                while True:
                    limit_s = self.timeout_s if reader.started else first_by_s - clock()
                    chunk = await self._within(limit_s, anext(stream, None))
                    if chunk is None:
                        break
                    delta = reader.push(chunk)
                    if delta is not None:
                        yield delta
            for delta in reader.finish():
                yield delta
        except BrokenStream as error:
            raise _Failure(str(error)) from error
        finally:
            self._running -= 1

    async def _open(self, request: Request) -> AsyncStream[ChatCompletionChunk]:
        body = request_body(request) | {self.max_tokens_field: request.max_tokens}
        create = self._ready_client().chat.completions.create
        stream: AsyncStream[ChatCompletionChunk] = await create(
            model=self.model, extra_body=self.extra_body, **body
        )
        return stream

    async def _reach(self) -> None:
        """Ask for the list of models, which costs nothing; a server without one is reached as well."""
        try:
            await self._within(self.first_token_timeout_s, self._ready_client().models.list())
        except _Failure as failure:
            if failure.status not in (404, 405):
                raise

    def _ready_client(self) -> AsyncOpenAI:
        if self._client is None:
            raise LlmError(f"{self.base_url}: the engine is not started")
        return self._client

    async def _persist(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Try until it works, or can no longer. Raises LlmError."""
        failures = 0
        while True:
            try:
                return await attempt()
            except _Failure as failure:
                failures += 1
                asked_s = failure.retry_after_s
                patient = asked_s is None or asked_s <= self._backoff.max_s
                if not failure.retryable or failures > self.retries or not patient:
                    tries = f" ({failures} tries)" if failures > 1 else ""
                    raise self._error(failure, tries) from failure
                wait_s = self._backoff.wait_s(failures, self.jitter, asked_s)
            await self.sleep(wait_s)

    def _error(self, failure: _Failure, tries: str) -> LlmError:
        text = f"{self.base_url}: {failure}{tries}"
        if failure.status in REFUSED_STATUSES:
            return RequestError(text)
        return BusyError(text) if failure.status in BUSY_STATUSES else LlmError(text)

    @staticmethod
    async def _within(limit_s: float, work: Awaitable[Result]) -> Result:
        """Await `work`; whatever goes wrong becomes a _Failure."""
        try:
            async with asyncio.timeout(limit_s):
                return await work
        except TimeoutError:
            raise _Failure(f"no answer within {limit_s:.3g} s") from None
        except openai.APIStatusError as error:
            retry_after_s = _seconds(error.response.headers.get("retry-after"))
            raise _Failure(
                f"{error.status_code}: {error.message}", error.status_code, retry_after_s
            ) from error
        except openai.APIError as error:
            raise _Failure(f"{error.message} ({error.__cause__ or type(error).__name__})") from error
        except (OSError, httpx2.HTTPError) as error:  # in mid-stream they come as they are
            raise _Failure(f"the connection broke: {type(error).__name__} {error}") from error
        except ValueError as error:
            raise _Failure(f"the stream is not JSON: {error}") from error


def _seconds(header: str | None) -> float | None:
    """The Retry-After header where it is a number of seconds (RFC 9110, 10.2.3); a date is not honoured."""
    try:
        return float(header) if header is not None else None
    except ValueError:
        return None
