"""OpenAI's chat completions API in front of any engine: a replica for the `replicas` list of another server.

`POST /v1/chat/completions`, streamed, with usage and cached tokens; `GET /v1/models`; `GET /health`. A
request with `continue_final_message` (vLLM's name for an open last message) is prefilled only.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from llmcore.engine import (
    BusyError,
    Delta,
    Llm,
    LlmError,
    Message,
    RefusedError,
    ReplyError,
    Request,
    RequestError,
    Tool,
    ToolCall,
    Usage,
    is_server_failure,
)

SESSION_HEADER = "x-session-id"
"""Header with the caller's id, sent by `openai_engine`."""
ENDS_HEADER, END_FIELD = "x-asks-end", "end_log_probability"
"""Request header that asks for the probability that the last message ends, and the field of the answer."""
BUSY_RETRY_S = "1"
ENGINE_FAILED, REFUSED = "engine_failed", "moderation"
"""Error types in a stream, as `openai_chat` reads them."""
OPAQUE_FIELD = "opaque"
"""Field of a call or a message with the opaque data of the engine's server; clients send it back."""


def chat_app(llm: Llm, model: str = "") -> Starlette:
    """Build the ASGI application. Its lifespan starts and closes the engine. model: the model's name."""

    async def complete(http: HttpRequest) -> Response:
        return await _complete(llm, http)

    async def models(_: HttpRequest) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": model, "object": "model"}] if model else []})

    async def health(_: HttpRequest) -> Response:
        return JSONResponse({"status": "ready", "pid": os.getpid()})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await llm.start()
        try:
            yield
        finally:
            await llm.close()

    return Starlette(
        routes=[
            Route("/v1/chat/completions", complete, methods=["POST"]),
            Route("/v1/models", models),
            Route("/health", health),
        ],
        lifespan=lifespan,
    )


async def _complete(llm: Llm, http: HttpRequest) -> Response:
    try:
        body = await http.json()
        request = read_body(body, http.headers.get(SESSION_HEADER, ""), ENDS_HEADER in http.headers)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return _error(400, f"the body is no request for a chat completion: {error!r}")
    if body.get("stream") is not True:
        return _error(400, f"stream is {body.get('stream')!r}; allowed: true, as replies are streamed")
    deltas = _prefilled(llm, request) if body.get("continue_final_message") else llm.generate(request)
    try:
        first = await anext(deltas)
    except StopAsyncIteration:
        first = Delta(finish_reason="stop")
    except RefusedError as error:
        return _error(403, str(error), code=REFUSED)
    except ReplyError as error:  # as for an error inside a stream: a retry may succeed
        return StreamingResponse(iter([event(_error_of(error))]), media_type="text/event-stream")
    except RequestError as error:
        return _error(400, str(error))
    except BusyError as error:
        return _error(429, str(error), {"retry-after": BUSY_RETRY_S})
    except LlmError as error:
        return _error(500, str(error))
    return StreamingResponse(_events(first, deltas), media_type="text/event-stream")


async def _prefilled(llm: Llm, request: Request) -> AsyncGenerator[Delta, None]:
    """Prefill the prompt only; a busy engine skips it. Raises LlmError."""
    usage = None
    with suppress(BusyError):  # no caller waits for a prefill
        usage = await llm.prefill(request)
    yield Delta(finish_reason="length", usage=usage or Usage())


async def _events(first: Delta, deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[str, None]:
    """Yield server-sent events; closing the generator aborts the reply."""
    async with aclosing(deltas):
        for each in chunks(first):
            yield event(each)
        try:
            async for delta in deltas:
                for each in chunks(delta):
                    yield event(each)
            yield "data: [DONE]\n\n"
        except LlmError as error:
            yield event(_error_of(error))


def _error_of(error: LlmError) -> dict[str, Any]:
    """Return an error event, whose type says if the engine failed or only this reply."""
    kind = REFUSED if isinstance(error, RefusedError) else "reply_failed"
    return {"error": {"message": str(error), "type": ENGINE_FAILED if is_server_failure(error) else kind}}


def event(data: Any) -> str:
    """Format one server-sent event."""
    return f"data: {json.dumps(data)}\n\n"


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return a chunk with one choice."""
    return {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def usage_chunk(prompt: int, cached: int, completion: int) -> dict[str, Any]:
    """Return the last chunk, with the usage and without choices."""
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return chunk({}) | {"choices": [], "usage": usage}


def chunks(delta: Delta) -> list[dict[str, Any]]:
    """Return the chunks to send for a delta."""
    sent = []
    if delta.thought:
        sent.append(chunk({"reasoning_content": delta.thought}))
    if delta.text:
        sent.append(chunk({"content": delta.text}))
    for index, call in enumerate(delta.tool_calls):
        function = {"name": call.name, "arguments": call.arguments}
        made = {"index": index, "id": call.call_id, "type": "function", "function": function}
        sent.append(chunk({"tool_calls": [made | _opaque(call.opaque)]}))
    if delta.opaque:
        sent.append(chunk(_opaque(delta.opaque)))
    if delta.finish_reason is not None:
        sent.append(chunk({}, delta.finish_reason))
    if delta.usage is not None:
        usage = delta.usage
        last = usage_chunk(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        if usage.thought_tokens:
            last["usage"]["completion_tokens_details"] = {"reasoning_tokens": usage.thought_tokens}
        if usage.end_log_probability is not None:
            last["usage"][END_FIELD] = usage.end_log_probability
        sent.append(last)
    return sent


def read_body(body: dict[str, Any], caller: str = "", asks_end: bool = False) -> Request:
    """Parse a request's body. Another shape raises ValueError, KeyError, TypeError, AttributeError."""
    choice = body.get("tool_choice", "auto")
    return Request(
        messages=tuple(_message(message) for message in body["messages"]),
        tools=tuple(Tool(**tool["function"]) for tool in body.get("tools", ())),
        tool_choice=choice if isinstance(choice, str) else choice["function"]["name"],
        max_tokens=int(body.get("max_tokens", 200)),
        temperature=float(body.get("temperature", 0.0)),
        stop=tuple(body.get("stop", ())),
        caller=caller,
        asks_end=asks_end,
    )


def _message(message: dict[str, Any]) -> Message:
    calls = tuple(
        ToolCall(
            call["id"], call["function"]["name"], call["function"]["arguments"], call.get(OPAQUE_FIELD, "")
        )
        for call in message.get("tool_calls", ())
    )
    opaque = message.get(OPAQUE_FIELD, "")
    return Message(message["role"], message["content"] or "", calls, message.get("tool_call_id"), opaque)


def _opaque(text: str) -> dict[str, str]:
    return {OPAQUE_FIELD: text} if text else {}


def _error(
    status: int, message: str, headers: dict[str, str] | None = None, code: int | str = ""
) -> Response:
    return JSONResponse({"error": {"message": message, "code": code or status}}, status, headers)
