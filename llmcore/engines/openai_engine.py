"""Models behind OpenAI's chat completions API: OpenAI, vLLM, SGLang, TGI, TensorRT-LLM, gateways."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import openai
from httpx2 import Response
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk

from llmcore.engine import Request, SetupError, Usage
from llmcore.engines.openai_chat import ChunkReader, request_body, stream_error
from llmcore.engines.openai_probing import REFUSAL_STATUSES, ProbeFailed, ShapeProber, error_text, is_too_long
from llmcore.engines.openai_servers import (
    Server,
    ServerKind,
    description_paths,
    kind_of,
    model_list,
    server_of,
)
from llmcore.engines.openai_stream import Chunks, StreamEnds
from llmcore.engines.remote_engine import START_S, EventStream, RemoteLlm, RemoteSettings, trace_headers
from llmcore.engines.remote_failures import AttemptFailed, retry_after_s
from llmcore.text.message_shapes import ANY_SHAPE, Shapes
from llmcore.text.refusals import (
    ContextLimit,
    describe_refused_field,
    is_about_messages,
    refused_field,
    refused_shapes,
    without_fields,
)

log = logging.getLogger(__name__)

ENDS_HEADER = "X-Asks-End"
"""Header that asks our own replicas for the probability that the message ends; other servers ignore it."""
SESSION_HEADER = "X-Session-ID"
"""Header by which routers send a session's requests to one replica: the first that vllm-router's
consistent_hash looks for, Ray Serve's default (RAY_SERVE_SESSION_ID_HEADER_KEY), and the one to give
production-stack as --session-key.
"""
_NEEDS_FLAG = "requires --jinja"
"""llama.cpp's error for tools without --jinja: status 500, although the request is at fault."""


@dataclass(eq=False)
class OpenAISettings(RemoteSettings):
    """Keyword arguments of OpenAILlm, which are keys of its configuration table.

    base_url: address up to and including `/v1`. max_tokens_field: name of the limit of a reply; if a server
    refuses it, the other name is sent. extra_body: further fields of the request. prefix_cache: True if the
    server caches prompts and may be sent prefill requests; None decides by the kind of server: vLLM, SGLang,
    TGI, TensorRT-LLM and llama.cpp do. For the rest see RemoteSettings.
    """

    base_url: str = "https://api.openai.com/v1"
    _: KW_ONLY
    api_key_env: str = "OPENAI_API_KEY"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] | None = None
    prefix_cache: bool | None = None


@dataclass(eq=False)
class OpenAILlm(OpenAISettings, RemoteLlm[AsyncOpenAI]):
    """A model behind an OpenAI-compatible API. For its keyword arguments see OpenAISettings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.server = Server()
        self.shapes = ANY_SHAPE
        """Message shapes that the server is known to refuse."""
        self.asks_shapes = False
        """True if `start` must probe the server for the shapes that it accepts."""
        self._refused_fields: set[str] = set()
        self._stream_ends = StreamEnds()
        self._context_limit = ContextLimit()
        self._has_learned = False
        self._models: tuple[str, ...] = ()

    async def start(self) -> None:
        """Read the key, reach the server and, with `asks_shapes`, learn the message shapes that it accepts.

        Raises:
            SetupError: the key or the model is wrong.
            LlmError: the server does not answer.
        """
        await super().start()
        await self._learn_shapes()

    async def reach(self) -> None:
        """Send one request, and learn the accepted shapes unless they are known.

        Raises:
            LlmError: the server did not answer.
        """
        await super().reach()
        await self._learn_shapes()

    def new_client(self, key: str) -> AsyncOpenAI:
        """Return a client without retries."""
        return AsyncOpenAI(
            api_key=key,
            base_url=self.base_url,
            # no read time-out: silence is measured between tokens, and a proxy's keep-alives are none
            timeout=openai.Timeout(None, connect=self.connect_timeout_s),
            max_retries=0,
        )

    async def list_models(self) -> object:
        """Request the list of models, and detect the kind of server by it."""
        models = await self.client.models.list()
        model_list = getattr(models, "data", None) or ()  # the package validates no answer
        names = [(getattr(model, "id", ""), getattr(model, "owned_by", "")) for model in model_list]
        self._models = tuple(name for name, _ in names if name)
        kind = next((kind_of(model, owner) for model, owner in names), None)
        self.server = server_of(kind, await self._describe_server(kind))
        if self.server.kind is not None:
            log.info("%s: the server is %s", self.base_url, self.server.kind)
        for advice in self.server.advice:
            log.warning("%s: %s", self.base_url, advice)
        return models

    async def _describe_server(self, kind: ServerKind | None) -> dict[str, Any]:
        root = self.root
        for path in description_paths(kind):
            try:
                answer = await self.client.get(root + path, cast_to=Response)
                description = answer.json()
            except (openai.APIError, ValueError) as error:
                log.debug("%s%s: %s", root, path, error)
            else:
                return description if isinstance(description, dict) else {}
        return {}

    @property
    def root(self) -> str:
        """Address above the API, where servers have paths of their own."""
        return self.base_url.removesuffix("/").removesuffix("/v1")

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at a server with a prefix cache, which costs one token.

        Raises:
            LlmError: the request failed.
        """
        if not (self.server.prefix_cache if self.prefix_cache is None else self.prefix_cache):
            return None
        usage: Usage | None = None
        # one, as the API does not allow zero
        unfinished = replace(request, priority_class="prefill", max_tokens=1)
        async with aclosing(self.generate(unfinished)) as deltas:
            async for delta in deltas:
                usage = delta.usage or usage
        return usage

    async def open_stream(self, request: Request) -> EventStream:
        """Request a reply. If the server finds the prompt too long, drop the oldest turns, now and later."""
        fitting = self._context_limit.fit(request)
        while True:
            try:
                return await self._open_in_accepted_shapes(fitting)
            except openai.APIError as refusal:
                shorter = self._context_limit.shorten(fitting) if is_too_long(refusal) else None
                if shorter is None:
                    raise
                log.warning(
                    "%s: the prompt does not fit into the model's context, so the oldest turns beyond about "
                    "%d characters are left out: %s",
                    self.base_url,
                    self._context_limit.characters,
                    refusal.message,
                )
                fitting = shorter

    async def _open_in_accepted_shapes(self, request: Request) -> Chunks:
        """Request a reply. If the server refuses the shape of the messages, retry once in another shape.

        The new shape is kept if the server accepts it.
        """
        try:
            return await self.open_in_shapes(request, self.shapes)
        except openai.APIStatusError as refusal:
            text = error_text(refusal)
            if refusal.status_code not in REFUSAL_STATUSES or not is_about_messages(text):
                raise
            shapes = refused_shapes(text, self.shapes)
            if request_body(request, shapes) == request_body(request, self.shapes):
                raise
            try:
                stream = await self.open_in_shapes(request, shapes)
            except openai.APIError:
                raise refusal from None
            self._adopt_shapes(shapes)
            return stream

    async def open_in_shapes(self, request: Request, shapes: Shapes) -> Chunks:
        """Request a reply to messages in these shapes. Raises the client's exceptions."""
        whole = request_body(request, shapes, self._origin) | {self.max_tokens_field: request.max_tokens}
        while True:
            body = without_fields(whole, self._refused_fields)
            try:
                return await self._send_until_chunks(request, body)
            except openai.APIStatusError as refusal:
                field = refused_field(error_text(refusal), body)
                if field is None or refusal.status_code not in REFUSAL_STATUSES:
                    raise
                self._leave_out(field)

    async def _send_until_chunks(self, request: Request, body: dict[str, Any]) -> Chunks:
        """Request a reply. If the stream is empty, request the whole reply: it has the reason, or the words.

        llama-cpp-python ends a stream without a chunk if the prompt is too long or a call cannot be streamed.
        """
        chunks = Chunks(await self._send(request, body), self._stream_ends)
        if not await chunks.is_empty():
            return chunks
        await chunks.close()
        body.pop("stream_options", None)
        return Chunks(await self._send(request, body, stream=False), self._stream_ends)

    async def _send(
        self, request: Request, body: Mapping[str, Any], **more: Any
    ) -> AsyncStream[ChatCompletionChunk]:
        """Send a request. more: fields that the package must not see, as it converts the answer by them."""
        unfinished = self.server.unfinished if request.priority_class == "prefill" else {}
        more = {**self.server.always, **(self.extra_body or {}), **unfinished, **more}
        headers = {SESSION_HEADER: request.caller} if request.caller else {}
        if request.asks_end:
            headers[ENDS_HEADER] = "1"
        stream: AsyncStream[ChatCompletionChunk] = await self.client.chat.completions.create(
            model=self.model, extra_body=more, extra_headers=trace_headers(request) | headers, **body
        )
        return stream

    def _leave_out(self, field: str) -> None:
        """Send this field no more. Concurrent requests may be refused for the same one."""
        if field not in self._refused_fields:
            self._refused_fields.add(field)
            log.warning("%s: %s", self.base_url, describe_refused_field(field, self._refused_fields))

    async def _learn_shapes(self) -> None:
        """Probe which message shapes the server accepts, in requests for one token each.

        If the server does not answer in time, its shapes stay unknown. Raises SetupError if it refuses the
        key or the model.
        """
        if not self.asks_shapes or self._has_learned:
            return
        try:
            async with asyncio.timeout(START_S):
                learned = await ShapeProber(self, self._models).learn()
        except TimeoutError:
            log.warning("%s: the accepted message shapes are unknown: no answer", self.base_url)
        except ProbeFailed as failure:
            log.warning("%s: the accepted message shapes are unknown: %s", self.base_url, failure)
        else:
            self._finish_learning(learned)

    def _finish_learning(self, learned: Shapes | None) -> None:
        self._has_learned = learned is not None
        if learned is not None:
            self._adopt_shapes(learned)
        elif self._models and self.model not in self._models:
            raise SetupError(
                f"{self.base_url}: it refuses the model {self.model!r}{model_list(self._models)}"
            )
        else:  # the warm-up turn fails in the same way, and reports the error
            log.warning("%s: it refuses even a plain question", self.base_url)

    def _adopt_shapes(self, shapes: Shapes) -> None:
        known = set(self.shapes.describe())
        self.shapes = shapes
        for line in shapes.describe():
            if line not in known:
                log.warning("%s: %s", self.base_url, line)

    def new_reader(self) -> ChunkReader:
        """Return a reader for the chunks of one reply."""
        return ChunkReader(self._origin)

    @property
    def _origin(self) -> str:
        """Server and model that opaque fields and finish words belong to; other models may not know them."""
        return f"{self.base_url} {self.model}"

    def failure_of(self, error: Exception) -> AttemptFailed | None:
        """Convert an exception of the openai package."""
        if isinstance(error, openai.APIStatusError):
            wait_s = retry_after_s(error.response.headers.get("retry-after"))
            text = error_text(error)
            status = 400 if _NEEDS_FLAG in text else error.status_code
            return AttemptFailed(f"{error.status_code}: {text}", status, wait_s, body=error.body)
        if type(error) is openai.APIError:  # the package raises this exact type for an error in a stream
            return stream_error(error.body or error.message)
        if isinstance(error, openai.APIError):
            return AttemptFailed(f"{error.message} ({error.__cause__ or type(error).__name__})")
        return None
