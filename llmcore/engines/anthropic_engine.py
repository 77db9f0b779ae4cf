"""Claude by Anthropic's Messages API, with cache breakpoints at the stable parts of a call's prompts."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import Context
from dataclasses import KW_ONLY, dataclass
from typing import Any

import anthropic
from anthropic import AsyncAnthropic, AsyncStream
from anthropic.types import Message, RawMessageStreamEvent

from llmcore.engine import LlmError, Request, Usage
from llmcore.engines.anthropic_messages import (
    CacheTtl,
    EventReader,
    cached_part,
    request_body,
    shared_part,
    usage_of,
)
from llmcore.engines.remote_engine import EventStream, RemoteLlm, RemoteSettings, trace_headers
from llmcore.engines.remote_failures import BUSY_STATUSES, AttemptFailed, error_in_stream, retry_after_s
from llmcore.policies.prefix_warmth import PrefixWarmth
from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout

log = logging.getLogger(__name__)

_TTL_S = {"5m": 300.0, "1h": 3600.0}
_MAX_PREFIXES = 1000
"""Prompts whose expiry in the cache is remembered: more than one gateway's concurrent calls."""
_STATUS_OF = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504}
"""HTTP statuses for errors inside a stream, whose own status is 200."""
_NO_STREAM = ("text/html", "application/json")
"""Content types of a page of another server or of a proxy, and of an answer in one piece. Others may be
streams: gateways do not always name the type.
"""


@dataclass(eq=False)
class AnthropicSettings(RemoteSettings):
    """Keyword arguments of AnthropicLlm, which are keys of its configuration table.

    cache_ttl: time for which a prompt stays cached after its last use; "1h" costs more to write. keep_warm_s:
    time after its last use for which the prefix shared by calls is re-read periodically, so that the first
    caller after a pause need not wait for it; 0 disables this. extra_body: further fields of the request. A
    temperature belongs there: current models refuse one, so it is not sent by default. For the rest see
    RemoteSettings.
    """

    base_url: str = "https://api.anthropic.com"
    _: KW_ONLY
    api_key_env: str = "ANTHROPIC_API_KEY"
    cache_ttl: CacheTtl = "5m"
    keep_warm_s: float = 3600.0
    extra_body: dict[str, Any] | None = None


@dataclass(eq=False)
class AnthropicLlm(AnthropicSettings, RemoteLlm[AsyncAnthropic]):
    """A model behind Anthropic's API. For its keyword arguments see AnthropicSettings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._cached_until_s: OrderedDict[bytes, float] = OrderedDict()
        self._shared = PrefixWarmth[str](_TTL_S[self.cache_ttl], self.keep_warm_s)
        self._warming: asyncio.Task[None] | None = None
        self.clock: Callable[[], float] = time.monotonic

    def new_client(self, key: str) -> AsyncAnthropic:
        """Return a client without retries."""
        return AsyncAnthropic(
            api_key=key,
            base_url=self.base_url,
            timeout=anthropic.Timeout(None, connect=self.connect_timeout_s),
            max_retries=0,
        )

    async def close(self) -> None:
        """Close the connections and stop keeping prompts warm; a second call does nothing."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
            self._warming = None
        await super().close()

    async def list_models(self) -> object:
        """Request the list of models."""
        return await self.client.models.list(limit=1)

    async def prefill(self, request: Request) -> Usage | None:
        """Write the prompt up to its last breakpoint into the cache, by a request for zero tokens.

        Does nothing if an earlier request has cached it: what the caller adds while speaking comes after
        that.

        Raises:
            LlmError: the request failed.
        """
        body = request_body(request, self.cache_ttl, self._origin)
        if self._cached_until_s.get(cached_part(body), 0.0) > self.clock():
            return Usage()
        message = await self._write_cache(body, trace_headers(request))
        self._record_cached(body, request.caller)
        return usage_of(message.usage)

    async def open_stream(self, request: Request) -> EventStream:
        """Request a reply."""
        body = request_body(request, self.cache_ttl, self._origin)
        stream: AsyncStream[RawMessageStreamEvent] = await self.client.messages.create(
            model=self.model,
            max_tokens=request.max_tokens,
            stream=True,
            extra_body=self.extra_body,
            extra_headers=trace_headers(request),
            **body,
        )
        kind = str(stream.response.headers.get("content-type", "")).lower()
        if kind.startswith(_NO_STREAM):
            await stream.close()
            raise AttemptFailed(f"the answer is no stream of events (content type: {kind})")
        self._record_cached(body, request.caller)
        return stream

    def new_reader(self) -> EventReader:
        """Return a reader for the events of one reply."""
        return EventReader(self._origin)

    @property
    def _origin(self) -> str:
        """Server and model. Thoughts are signed for one model."""
        return f"{self.base_url} {self.model}"

    def failure_of(self, error: Exception) -> AttemptFailed | None:
        """Convert an exception of the anthropic package."""
        if isinstance(error, anthropic.APIStatusError):
            status = _STATUS_OF.get(error.type or "", error.status_code)
            text = f"{status}: {error.message}"
            if error.status_code == 200 and status not in BUSY_STATUSES:  # the error came inside a stream
                return error_in_stream(text)
            wait_s = retry_after_s(error.response.headers.get("retry-after"))
            return AttemptFailed(text, status, wait_s)
        if isinstance(error, anthropic.APIError):
            return AttemptFailed(f"{error.message} ({error.__cause__ or type(error).__name__})")
        return None

    async def _write_cache(self, body: dict[str, Any], headers: dict[str, str]) -> Message:
        """Read the prompt of `body` into the cache up to its last breakpoint. Raises LlmError."""
        return await self.retry(
            lambda: self.run_attempt(
                PauseTolerantTimeout(self.first_token_timeout_s),
                self.client.messages.create(
                    model=self.model, max_tokens=0, extra_body=self.extra_body, extra_headers=headers, **body
                ),
            )
        )

    def _record_cached(self, body: dict[str, Any], caller: str) -> None:
        """Record that this prompt is cached; forget the oldest beyond `_MAX_PREFIXES`."""
        prefix = cached_part(body)
        self._cached_until_s.pop(prefix, None)
        self._cached_until_s[prefix] = self.clock() + _TTL_S[self.cache_ttl]
        if len(self._cached_until_s) > _MAX_PREFIXES:
            self._cached_until_s.popitem(last=False)
        if (shared := shared_part(body)) is not None:
            self._shared.record_use(json.dumps(shared), caller, self.clock())
            if self._warming is None or self._warming.done():
                self._warming = asyncio.create_task(
                    self._keep_warm(), name="keep prompts warm", context=Context()
                )

    async def _keep_warm(self) -> None:
        """Re-read shared prefixes shortly before they expire, while another call is likely."""
        while (due_s := self._shared.due_s()) is not None:
            await self.sleep(max(0.0, due_s - self.clock()))
            for shared in self._shared.pop_due(self.clock()):
                try:
                    await self._write_cache(json.loads(shared), {})
                except LlmError as error:
                    log.warning("cannot keep the shared prompt cached: %s", error)
