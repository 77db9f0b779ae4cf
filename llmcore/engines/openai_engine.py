"""Any server that speaks OpenAI's chat completions: OpenAI itself, vLLM, SGLang, TGI, TensorRT-LLM,
gateways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import openai
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk

from llmcore.engine import Delta, LlmError, Request
from llmcore.engines.hosted_engine import AttemptFailed, HostedLlm, HostedSettings, retry_after_s
from llmcore.engines.openai_chat import ChunkReader, request_body


@dataclass(eq=False)
class OpenAISettings(HostedSettings):
    """The keyword arguments of OpenAILlm, which are its table in a configuration.

    base_url: the address up to and with `/v1`. max_tokens_field: newer OpenAI models want
    "max_completion_tokens". extra_body: more fields of the request. The rest is in HostedSettings.
    """

    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] | None = None


@dataclass(eq=False)
class OpenAILlm(OpenAISettings, HostedLlm):
    """A model behind an HTTP endpoint; its keyword arguments are those of OpenAISettings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._client: AsyncOpenAI | None = None

    def connect(self, key: str) -> None:
        """Make the client; it repeats nothing by itself."""
        self._client = AsyncOpenAI(
            api_key=key,
            base_url=self.base_url,
            timeout=openai.Timeout(None, connect=self.connect_timeout_s),
            max_retries=0,
        )

    async def close(self) -> None:
        """Close the connections; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def list_models(self) -> object:
        """Ask for the list of models."""
        return await self._ready_client().models.list()

    async def deltas_of(self, request: Request) -> AsyncGenerator[Delta, None]:
        """One try. Raises AttemptFailed, BrokenStream."""
        clock = asyncio.get_running_loop().time
        first_by_s = clock() + self.first_token_timeout_s
        reader = ChunkReader()
        stream = await self.within(self.first_token_timeout_s, self._open(request))
        async with stream:
            while True:
                limit_s = self.timeout_s if reader.started else first_by_s - clock()
                chunk = await self.within(limit_s, anext(stream, None))
                if chunk is None:
                    break
                delta = reader.push(chunk)
                if delta is not None:
                    yield delta
        for delta in reader.finish():
            yield delta

    def failure_of(self, error: Exception) -> AttemptFailed | None:
        """What an exception of the openai package means."""
        if isinstance(error, openai.APIStatusError):
            wait_s = retry_after_s(error.response.headers.get("retry-after"))
            return AttemptFailed(f"{error.status_code}: {error.message}", error.status_code, wait_s)
        if isinstance(error, openai.APIError):
            return AttemptFailed(f"{error.message} ({error.__cause__ or type(error).__name__})")
        return None

    async def _open(self, request: Request) -> AsyncStream[ChatCompletionChunk]:
        body = request_body(request) | {self.max_tokens_field: request.max_tokens}
        headers = {"traceparent": request.traceparent} if request.traceparent else None
        create = self._ready_client().chat.completions.create
        stream: AsyncStream[ChatCompletionChunk] = await create(
            model=self.model, extra_body=self.extra_body, extra_headers=headers, **body
        )
        return stream

    def _ready_client(self) -> AsyncOpenAI:
        if self._client is None:
            raise LlmError(f"{self.base_url}: the engine is not started")
        return self._client
