"""Any server that speaks OpenAI's chat completions: OpenAI itself, vLLM, SGLang, TGI, TensorRT-LLM,
gateways."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import openai
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
from llmcore.engines.openai_chat import ChunkReader, request_body

SESSION_HEADER = "X-Session-ID"
"""By which routers before replicas send what belongs together to one of them: the first that vllm-router's
consistent_hash looks for, Ray Serve's default (RAY_SERVE_SESSION_ID_HEADER_KEY), and what production-stack is
told with --session-key."""
UNFINISHED = {"add_generation_prompt": False, "continue_final_message": True}
"""Leaves the last message open: vLLM's and SGLang's fields."""


@dataclass(eq=False)
class OpenAISettings(HostedSettings):
    """The keyword arguments of OpenAILlm, which are its table in a configuration.

    base_url: the address up to and with `/v1`. max_tokens_field: newer OpenAI models want
    "max_completion_tokens". extra_body: more fields of the request. prefix_cache: whether the server keeps
    what it has read and may be asked to read ahead, as vLLM and SGLang do. The rest is in HostedSettings.
    """

    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] | None = None
    prefix_cache: bool = False


@dataclass(eq=False)
class OpenAILlm(OpenAISettings, HostedLlm[AsyncOpenAI]):
    """A model behind an HTTP endpoint; its keyword arguments are those of OpenAISettings."""

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
        """Ask for the list of models."""
        return await self.client.models.list()

    async def prefill(self, request: Request) -> Usage | None:
        """Have a server with a prefix cache read, which costs one token. Raises LlmError."""
        if not self.prefix_cache:
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
        body = request_body(request) | {self.max_tokens_field: request.max_tokens}
        more = (self.extra_body or {}) | (UNFINISHED if request.priority_class == "prefill" else {})
        session = {SESSION_HEADER: request.caller} if request.caller else {}
        create = self.client.chat.completions.create
        stream: AsyncStream[ChatCompletionChunk] = await create(
            model=self.model, extra_body=more, extra_headers=trace_headers(request) | session, **body
        )
        return stream

    def new_reader(self) -> ChunkReader:
        """What reads the chunks of one reply."""
        return ChunkReader()

    def failure_of(self, error: Exception) -> AttemptFailed | None:
        """What an exception of the openai package means."""
        if isinstance(error, openai.APIStatusError):
            wait_s = retry_after_s(error.response.headers.get("retry-after"))
            return AttemptFailed(f"{error.status_code}: {error.message}", error.status_code, wait_s)
        if isinstance(error, openai.APIError):
            return AttemptFailed(f"{error.message} ({error.__cause__ or type(error).__name__})")
        return None
