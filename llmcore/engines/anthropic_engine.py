"""Anthropic's Messages API: Claude, with cache breakpoints where a call's prompts stay the same."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import KW_ONLY, dataclass
from typing import Any

import anthropic
from anthropic import AsyncAnthropic, AsyncStream
from anthropic.types import Message, RawMessageStreamEvent

from llmcore.engine import Request, Usage
from llmcore.engines.anthropic_messages import CacheTtl, EventReader, cached_part, request_body, usage_of
from llmcore.engines.hosted_engine import (
    AttemptFailed,
    EventStream,
    HostedLlm,
    HostedSettings,
    retry_after_s,
    trace_headers,
)

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
class AnthropicLlm(AnthropicSettings, HostedLlm[AsyncAnthropic]):
    """A model behind Anthropic's API; its keyword arguments are those of AnthropicSettings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._warm_until_s: OrderedDict[bytes, float] = OrderedDict()

    def new_client(self, key: str) -> AsyncAnthropic:
        """A client that repeats nothing by itself."""
        return AsyncAnthropic(
            api_key=key,
            base_url=self.base_url,
            timeout=anthropic.Timeout(None, connect=self.connect_timeout_s),
            max_retries=0,
        )

    async def list_models(self) -> object:
        """Ask for the list of models."""
        return await self.client.models.list(limit=1)

    async def prefill(self, request: Request) -> Usage | None:
        """Write the prompt up to its last breakpoint into the cache: a request for no tokens at all does.

        Nothing, where it should still be there from an earlier request: what the caller adds while speaking
        lies after that. Raises LlmError.
        """
        body = request_body(request, self.cache_ttl)
        part = cached_part(body)
        if self._warm_until_s.get(part, 0.0) > asyncio.get_running_loop().time():
            return None
        create = self.client.messages.create
        message: Message = await self.persist(
            lambda: self.within(
                self.first_token_timeout_s,
                create(
                    model=self.model,
                    max_tokens=0,
                    extra_body=self.extra_body,
                    extra_headers=trace_headers(request),
                    **body,
                ),
            )
        )
        self._remember(part)
        return usage_of(message.usage)

    async def open_stream(self, request: Request) -> EventStream:
        """Ask for a reply."""
        body = request_body(request, self.cache_ttl)
        stream: AsyncStream[RawMessageStreamEvent] = await self.client.messages.create(
            model=self.model,
            max_tokens=request.max_tokens,
            stream=True,
            extra_body=self.extra_body,
            extra_headers=trace_headers(request),
            **body,
        )
        self._remember(cached_part(body))
        return stream

    def new_reader(self) -> EventReader:
        """What reads the events of one reply."""
        return EventReader()

    def failure_of(self, error: Exception) -> AttemptFailed | None:
        """What an exception of the anthropic package means."""
        if isinstance(error, anthropic.APIStatusError):
            status = _STATUS_OF.get(error.type or "", error.status_code)
            wait_s = retry_after_s(error.response.headers.get("retry-after"))
            return AttemptFailed(f"{status}: {error.message}", status, wait_s)
        if isinstance(error, anthropic.APIError):
            return AttemptFailed(f"{error.message} ({error.__cause__ or type(error).__name__})")
        return None

    def _remember(self, part: bytes) -> None:
        """This part of a prompt is in the cache from now on; of many the oldest is forgotten."""
        self._warm_until_s.pop(part, None)
        self._warm_until_s[part] = asyncio.get_running_loop().time() + _TTL_S[self.cache_ttl]
        if len(self._warm_until_s) > _REMEMBERED:
            self._warm_until_s.popitem(last=False)
