"""Any server that speaks OpenAI's chat completions: OpenAI itself, vLLM, SGLang, TGI, TensorRT-LLM,
gateways."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import openai
from httpx2 import Response
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk

from llmcore.engine import Request, Usage
from llmcore.engines.hosted_engine import (
    AttemptFailed,
    EventStream,
    HostedLlm,
    HostedSettings,
    retry_after_s,
    trace_headers,
)
from llmcore.engines.openai_chat import STREAM_ENDED, ChunkReader, request_body, stream_error
from llmcore.engines.openai_servers import Server, ServerKind, kind_of, server_of, told_at

log = logging.getLogger(__name__)

ENDS_HEADER = "X-Asks-End"
"""Asks a replica of ours whether the message ends; to others it is nothing."""
SESSION_HEADER = "X-Session-ID"
"""By which routers before replicas send what belongs together to one of them: the first that vllm-router's
consistent_hash looks for, Ray Serve's default (RAY_SERVE_SESSION_ID_HEADER_KEY), and what production-stack is
told with --session-key."""
_NEEDS_FLAG = "requires --jinja"
"""llama.cpp's answer to tools, where its chat template is off: status 500, for a fault of the request."""
_TAIL_BYTES = 64


@dataclass(eq=False)
class OpenAISettings(HostedSettings):
    """The keyword arguments of OpenAILlm, which are its table in a configuration.

    base_url: the address up to and with `/v1`. max_tokens_field: newer OpenAI models want
    "max_completion_tokens". extra_body: more fields of the request. prefix_cache: whether the server keeps
    what it has read and may be asked to read ahead; left out, it is as the server is known to be: vLLM,
    SGLang, TGI, TensorRT-LLM and llama.cpp do. The rest is in HostedSettings.
    """

    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] | None = None
    prefix_cache: bool | None = None


@dataclass(eq=False)
class OpenAILlm(OpenAISettings, HostedLlm[AsyncOpenAI]):
    """A model behind an HTTP endpoint; its keyword arguments are those of OpenAISettings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.server = Server()

    def new_client(self, key: str) -> AsyncOpenAI:
        """A client that repeats nothing by itself."""
        return AsyncOpenAI(
            api_key=key,
            base_url=self.base_url,
            # none of its own for reading: silence is judged by tokens, and a proxy's keep-alives are none
            timeout=openai.Timeout(None, connect=self.connect_timeout_s),
            max_retries=0,
        )

    async def list_models(self) -> object:
        """Ask for the list of models, and by that find out which server it is."""
        models = await self.client.models.list()
        listed = getattr(models, "data", None) or ()  # whatever a server answers, the package takes it
        names = ((getattr(model, "id", ""), getattr(model, "owned_by", "")) for model in listed)
        kind = next((kind_of(model, owner) for model, owner in names), None)
        self.server = server_of(kind, await self._told(kind))
        if self.server.kind is not None:
            log.info("%s: the server is %s", self.base_url, self.server.kind)
        for advice in self.server.advice:
            log.warning("%s: %s", self.base_url, advice)
        return models

    async def _told(self, kind: ServerKind | None) -> dict[str, Any]:
        """What the server tells of itself; nothing where it does not."""
        above = self.base_url.removesuffix("/").removesuffix("/v1")
        for path in told_at(kind):
            try:
                answer = await self.client.get(above + path, cast_to=Response)
                told = answer.json()
            except (openai.APIError, ValueError) as error:
                log.debug("%s%s: %s", above, path, error)
            else:
                return told if isinstance(told, dict) else {}
        return {}

    async def prefill(self, request: Request) -> Usage | None:
        """Have a server with a prefix cache read, which costs one token. Raises LlmError."""
        if not (self.server.prefix_cache if self.prefix_cache is None else self.prefix_cache):
            return None
        usage: Usage | None = None
        # one: the API has no way to ask for none
        unfinished = replace(request, priority_class="prefill", max_tokens=1)
        async with aclosing(self.generate(unfinished)) as deltas:
            async for delta in deltas:
                usage = delta.usage or usage
        return usage

    async def open_stream(self, request: Request) -> EventStream:
        """Ask for a reply."""
        body = request_body(request, self._origin) | {self.max_tokens_field: request.max_tokens}
        unfinished = self.server.unfinished if request.priority_class == "prefill" else {}
        more = {**self.server.always, **(self.extra_body or {}), **unfinished}
        own = {SESSION_HEADER: request.caller} if request.caller else {}
        if request.asks_end:
            own[ENDS_HEADER] = "1"
        create = self.client.chat.completions.create
        stream: AsyncStream[ChatCompletionChunk] = await create(
            model=self.model, extra_body=more, extra_headers=trace_headers(request) | own, **body
        )
        return _Chunks(stream)

    def new_reader(self) -> ChunkReader:
        """What reads the chunks of one reply."""
        return ChunkReader(self._origin)

    @property
    def _origin(self) -> str:
        """Whose opaque fields and finish words these are: another model may not know them."""
        return f"{self.base_url} {self.model}"

    def failure_of(self, error: Exception) -> AttemptFailed | None:
        """What an exception of the openai package means."""
        if isinstance(error, openai.APIStatusError):
            wait_s = retry_after_s(error.response.headers.get("retry-after"))
            text = error.body if isinstance(error.body, str) else error.message  # TGI's is no object
            status = 400 if _NEEDS_FLAG in text else error.status_code
            return AttemptFailed(f"{error.status_code}: {text}", status, wait_s, body=error.body)
        if type(error) is openai.APIError:  # the package's way to tell of an error in a stream
            return stream_error(error.body or error.message)
        if isinstance(error, openai.APIError):
            return AttemptFailed(f"{error.message} ({error.__cause__ or type(error).__name__})")
        return None


class _Chunks:
    """The chunks of a stream, and behind them `STREAM_ENDED` where it ended in order.

    A connection that breaks raises, unless the end of the connection is the only mark of the end (HTTP/1.0,
    or neither chunked nor of a told length): then `[DONE]` must have come, which the package keeps to itself.
    """

    def __init__(self, stream: AsyncStream[ChatCompletionChunk]) -> None:
        self._stream = stream
        self._told = False
        self._tail = b""
        self._bytes = stream.response.aiter_bytes
        stream.response.aiter_bytes = self._watched  # type: ignore[method-assign, assignment]

    async def __aenter__(self) -> AsyncIterator[ChatCompletionChunk | str]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.close()

    def __aiter__(self) -> AsyncIterator[ChatCompletionChunk | str]:
        return self

    async def __anext__(self) -> ChatCompletionChunk | str:
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            if self._told or not self._ended_in_order():
                raise
            self._told = True
            return STREAM_ENDED

    async def _watched(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        async for data in self._bytes(chunk_size):
            self._tail = (self._tail + data)[-_TAIL_BYTES:]
            yield data

    def _ended_in_order(self) -> bool:
        response = self._stream.response
        headers = response.headers
        framed = "chunked" in headers.get("transfer-encoding", "").lower() or "content-length" in headers
        return framed or response.http_version == "HTTP/2" or b"[DONE]" in self._tail
