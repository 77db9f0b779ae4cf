"""Anthropic's Messages API: Claude, with cache breakpoints where a call's prompts stay the same."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import anthropic
from anthropic import AsyncAnthropic, AsyncStream
from anthropic.types import Message, RawMessageStreamEvent

from llmcore.engine import Delta, LlmError, Request, Usage
from llmcore.engines.anthropic_messages import CacheTtl, EventReader, cached_part, request_body, usage_of
from llmcore.engines.hosted_engine import AttemptFailed, HostedLlm, HostedSettings, retry_after_s

_TTL_S = {"5m": 300.0, "1h": 3600.0}
_REMEMBERED = 1000
"""Prompts whose place in the cache is kept in mind: more than calls at once on one gateway."""
_STATUS_OF = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504}
"""An error in mid-stream comes under the status of the stream, 200."""


@dataclass(eq=False)
class AnthropicSettings(HostedSettings):
    """The keyword arguments of AnthropicLlm, which are its table in a configuration.

    cache_ttl: how long a prompt stays cached after its last use; "1h" costs more to write. extra_body: more
    fields of the request. A temperature goes there: models of today refuse one, and it is not sent by itself.
    The rest is in HostedSettings.
    """

    base_url: str = "https://api.anthropic.com"
    _: KW_ONLY
    api_key_env: str = "ANTHROPIC_API_KEY"
    cache_ttl: CacheTtl = "5m"
    extra_body: dict[str, Any] | None = None


@dataclass(eq=False)
class AnthropicLlm(AnthropicSettings, HostedLlm):
    """A model behind Anthropic's API; its keyword arguments are those of AnthropicSettings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._client: AsyncAnthropic | None = None
        self._warm: OrderedDict[bytes, float] = OrderedDict()

    def connect(self, key: str) -> None:
        """Make the client; it repeats nothing by itself."""
        self._client = AsyncAnthropic(
            api_key=key,
            base_url=self.base_url,
            timeout=anthropic.Timeout(None, connect=self.connect_timeout_s),
            max_retries=0,
        )

    async def close(self) -> None:
        """Close the connections; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def list_models(self) -> object:
        """Ask for the list of models."""
        return await self._ready_client().models.list(limit=1)

    async def prefill(self, request: Request) -> Usage | None:
        """Write the prompt up to its last breakpoint into the cache: a request for no tokens at all does.

        Nothing, where it should still be there from an earlier request: what the caller adds while speaking
        lies after that. Raises LlmError.
        """
        body = request_body(request, self.cache_ttl)
        if self._is_warm(body):
            return None
        message: Message = await self.persist(
            lambda: self.within(
                self.first_token_timeout_s,
                self._ready_client().messages.create(
                    model=self.model, max_tokens=0, extra_body=self.extra_body, **body
                ),
            )
        )
        return usage_of(message.usage)

    async def deltas_of(self, request: Request) -> AsyncGenerator[Delta, None]:
        """One try. Raises AttemptFailed, BrokenStream."""
        clock = asyncio.get_running_loop().time
        first_by_s = clock() + self.first_token_timeout_s
        reader = EventReader()
        stream = await self.within(self.first_token_timeout_s, self._open(request))
        async with stream:
            while True:
                limit_s = self.timeout_s if reader.started else first_by_s - clock()
                event = await self.within(limit_s, anext(stream, None))
                if event is None:
                    break
                delta = reader.push(event)
                if delta is not None:
                    yield delta
        for delta in reader.finish():
            yield delta

    def failure_of(self, error: Exception) -> AttemptFailed | None:
        """What an exception of the anthropic package means."""
        if isinstance(error, anthropic.APIStatusError):
            status = _STATUS_OF.get(error.type or "", error.status_code)
            wait_s = retry_after_s(error.response.headers.get("retry-after"))
            return AttemptFailed(f"{status}: {error.message}", status, wait_s)
        if isinstance(error, anthropic.APIError):
            return AttemptFailed(f"{error.message} ({error.__cause__ or type(error).__name__})")
        return None

    async def _open(self, request: Request) -> AsyncStream[RawMessageStreamEvent]:
        body = request_body(request, self.cache_ttl)
        self._is_warm(body)
        stream: AsyncStream[RawMessageStreamEvent] = await self._ready_client().messages.create(
            model=self.model,
            max_tokens=request.max_tokens,
            stream=True,
            extra_body=self.extra_body,
            **body,
        )
        return stream

    def _is_warm(self, body: dict[str, Any]) -> bool:
        """Whether what `body` leaves in the cache is there already; from now on it is."""
        part, now_s = cached_part(body), asyncio.get_running_loop().time()
        warm = self._warm.pop(part, 0.0) > now_s
        self._warm[part] = now_s + _TTL_S[self.cache_ttl]
        if len(self._warm) > _REMEMBERED:
            self._warm.popitem(last=False)
        return warm

    def _ready_client(self) -> AsyncAnthropic:
        if self._client is None:
            raise LlmError(f"{self.base_url}: the engine is not started")
        return self._client
