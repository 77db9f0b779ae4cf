"""A server of Anthropic's Messages API over any engine, for tests: it refuses what the API refuses.

The events are those of https://docs.claude.com/en/docs/build-with-claude/streaming.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import pairwise
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from llmcore.engine import Delta, Llm, LlmError, Message, Request, Tool, ToolCall, Usage

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def messages_app(llm: Llm) -> Starlette:
    """`POST /v1/messages` (streamed) and `GET /v1/models`."""

    async def complete(http: HttpRequest) -> Response:
        body = await http.json()
        if wrong := fault(body):
            return refuse(400, "invalid_request_error", wrong)
        return StreamingResponse(_events(llm, read_body(body)), media_type="text/event-stream")

    async def models(http: HttpRequest) -> Response:
        return JSONResponse({"data": [], "has_more": False, "first_id": None, "last_id": None})

    return Starlette(routes=[Route("/v1/messages", complete, methods=["POST"]), Route("/v1/models", models)])


def refuse(status: int, kind: str, message: str, **headers: str) -> JSONResponse:
    """An error as the API answers it."""
    return JSONResponse({"type": "error", "error": {"type": kind, "message": message}}, status, headers)


def fault(body: dict[str, Any]) -> str:
    """Return the API's error for the messages of a request; "" for none."""
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        return "first message must use the user role"
    if messages[-1]["role"] != "user":
        return "the conversation must end with a user message"
    if any(one["role"] == other["role"] for one, other in pairwise(messages)):
        return "roles must alternate"
    blocks = [block for message in messages for block in message["content"]]
    if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
        return "text content blocks must be non-empty"
    for asked, answered in pairwise([{"content": []}, *messages]):
        calls = [block["id"] for block in asked["content"] if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in answered["content"] if block["type"] == "tool_result"]
        if sorted(calls) != sorted(results):
            return f"tool_use {calls} and tool_result {results} must match"
        kinds = [block["type"] for block in answered["content"]]
        if kinds[: len(results)] != ["tool_result"] * len(results):
            return "tool_result blocks must come first"
    if any(block["type"] == "tool_use" for block in blocks) and not body.get("tools"):
        return "tools must be defined where tools were used"
    marked = [*blocks, *body.get("system", ()), *body.get("tools", ())]
    if sum("cache_control" in block for block in marked) > 4:
        return "a maximum of 4 blocks with cache_control may be provided"
    return ""


async def _events(llm: Llm, request: Request) -> AsyncGenerator[str, None]:
    try:
        async with aclosing(llm.generate(request)) as deltas:
            yield begin()
            index = 0
            async for delta in deltas:
                for sent in blocks_of(delta, index):
                    yield sent
                index += bool(delta.thought) + bool(delta.text) + len(delta.tool_calls)
                if delta.finish_reason is not None:
                    yield end(STOP_REASONS[delta.finish_reason], delta.usage or Usage())
    except LlmError as error:
        yield event("error", error={"type": "api_error", "message": str(error)})


def event(kind: str, **fields: Any) -> str:
    """One server-sent event."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n"


def usage(prompt: int = 0, read: int = 0, written: int = 0, completion: int = 0) -> dict[str, int]:
    """Return the counts in the API's form: `prompt` excludes tokens read from or written to the cache."""
    return {
        "input_tokens": prompt,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": completion,
    }


def message(content: list[dict[str, Any]], counts: dict[str, int], stop: str | None = None) -> dict[str, Any]:
    """A message, whole or as it begins."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": counts,
    }


def begin(counts: dict[str, int] | None = None) -> str:
    """The first event of a reply."""
    return event("message_start", message=message([], counts or usage()))


def blocks_of(delta: Delta, index: int) -> list[str]:
    """A block each for the text and the calls of a delta."""
    sent = []
    if delta.thought:
        thought = {"type": "thinking", "thinking": "", "signature": ""}
        sent += _block(index, thought, {"type": "thinking_delta", "thinking": delta.thought})
        index += 1
    if delta.text:
        sent += _block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": delta.text})
        index += 1
    for call in delta.tool_calls:
        began = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}
        sent += _block(index, began, {"type": "input_json_delta", "partial_json": call.arguments})
        index += 1
    return sent


def _block(index: int, began: dict[str, Any], grown: dict[str, Any]) -> list[str]:
    return [
        event("content_block_start", index=index, content_block=began),
        event("content_block_delta", index=index, delta=grown),
        event("content_block_stop", index=index),
    ]


def end(stop_reason: str, used: Usage) -> str:
    """The last two events of a reply."""
    counts = usage(used.prompt_tokens - used.cached_tokens, used.cached_tokens, 0, used.completion_tokens)
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return event("message_delta", delta=delta, usage=counts) + event("message_stop")


def read_body(body: dict[str, Any]) -> Request:
    """A request's body as an engine's request."""
    choice = body.get("tool_choice", {"type": "auto"})
    named = {"any": "required", "tool": choice.get("name", "")}.get(choice["type"], choice["type"])
    system = [Message("system", block["text"]) for block in body.get("system", ())]
    tools = body.get("tools", ())
    return Request(
        messages=(*system, *(said for each in body["messages"] for said in _messages(each))),
        tools=tuple(Tool(tool["name"], tool.get("description", ""), tool["input_schema"]) for tool in tools),
        tool_choice=named,
        max_tokens=body["max_tokens"],
        temperature=body.get("temperature", 0.0),
        stop=tuple(body.get("stop_sequences", ())),
    )


def _messages(body: dict[str, Any]) -> list[Message]:
    blocks = body["content"]
    results = [block for block in blocks if block["type"] == "tool_result"]
    text = " ".join(block["text"] for block in blocks if block["type"] == "text")
    calls = tuple(
        ToolCall(block["id"], block["name"], json.dumps(block["input"]))
        for block in blocks
        if block["type"] == "tool_use"
    )
    found = [Message("tool", block["content"], tool_call_id=block["tool_use_id"]) for block in results]
    return [*found, Message(body["role"], text, calls)] if text or calls else found
