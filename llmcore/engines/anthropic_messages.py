"""Anthropic's Messages API as data: request bodies with cache breakpoints, and the deltas of a stream.

The format is that of https://docs.claude.com/en/api/messages (streaming) and of its prompt caching
(https://docs.claude.com/en/docs/build-with-claude/prompt-caching).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

from anthropic.types import MessageDeltaUsage, RawMessageStreamEvent
from anthropic.types import Usage as ReportedUsage

from llmcore.engine import Delta, Message, Request, ToolCall, Usage
from llmcore.engines.remote_failures import BrokenStream
from llmcore.text.call_arguments import arguments_object
from llmcore.text.finish_words import finish_reason
from llmcore.text.message_shapes import GO_ON, OPENING, Shapes
from llmcore.text.reshaping import adapt_messages
from llmcore.text.tool_calls import join_opaque, opaque_of, sendable_name

CacheTtl = Literal["5m", "1h"]

REFUSED = Shapes(frozenset({"later_system", "assistant_first", "assistant_last", "odd_ids"}))
"""Message shapes that the API refuses, by its documentation."""


def request_body(request: Request, ttl: CacheTtl, server: str = "") -> dict[str, Any]:
    """Return the fields of a request that depend on the conversation.

    server: only this server's thoughts are sent back with calls.

    Two cache breakpoints. The first, after the system prompt, ends the prefix shared by all calls; the API
    puts the tools before it. The second, before the newest message, ends the settled part of this call: the
    newest message may still change while the caller speaks, and each write to the cache costs money.
    """
    breakpoint_mark = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
    split = next((n for n, message in enumerate(request.messages) if message.role != "system"), None)
    system = [_text_block(message.content) for message in request.messages[:split]]
    messages = _messages(request.messages[split:] if split is not None else (), server)
    tools = _tools(request)
    if system:
        system[-1] |= breakpoint_mark
    elif tools:
        tools[-1] |= breakpoint_mark
    if len(messages) > 1:
        messages[-2]["content"][-1] |= breakpoint_mark
    body: dict[str, Any] = {"messages": messages}
    if system:
        body["system"] = system
    if stops := [stop for stop in request.stop if stop.strip()]:  # blank ones are refused
        body["stop_sequences"] = stops
    if tools:
        body |= {"tools": tools, "tool_choice": _tool_choice(request)}
    return body


def cached_part(body: dict[str, Any]) -> bytes:
    """Return a digest of the part of `body` that is cached: up to its last breakpoint."""
    parts = [body.get("tools"), body.get("system"), body["messages"][:-1]]
    return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).digest()


def shared_part(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return a body with only the part that calls share, or None if there is none."""
    shared = {field: body[field] for field in ("system", "tools", "tool_choice") if field in body}
    return shared | {"messages": [{"role": "user", "content": [_text_block(OPENING)]}]} if shared else None


def _messages(history: tuple[Message, ...], server: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for message in adapt_messages(history, REFUSED):
        # the API wants results in a user message, directly after the calls and before any text
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, server)
        if not messages and role == "assistant":
            messages.append({"role": "user", "content": [_text_block(OPENING)]})
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    if not messages:
        messages.append({"role": "user", "content": [_text_block(OPENING)]})
    if messages[-1]["role"] == "assistant":  # its blank user message was dropped
        messages.append({"role": "user", "content": [_text_block(GO_ON)]})
    return messages


def _blocks(message: Message, server: str) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}]
    calls = [
        {
            "type": "tool_use",
            "id": call.call_id,
            "name": sendable_name(call.name),
            "input": arguments_object(call.arguments),
        }
        for call in message.tool_calls
    ]
    thoughts = [
        block for call in message.tool_calls for block in opaque_of(call.opaque, server).get("thoughts", ())
    ]
    words = [_text_block(message.content)] if message.content.strip() else []  # the API refuses an empty text
    images = [_image_block(image) for image in message.images]
    return thoughts + images + words + calls


def _image_block(url: str) -> dict[str, Any]:
    """Return the content block of an image, given as a data URL."""
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _tools(request: Request) -> list[dict[str, Any]]:
    """Return the offered tools, or if none, those called: the API refuses unknown ones in a history."""
    offered = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": {"type": "object"} | tool.parameters,
        }
        for tool in request.tools
    ]
    if offered:
        return offered
    called = {call.name: None for message in request.messages for call in message.tool_calls}
    return [{"name": name, "input_schema": {"type": "object"}} for name in called]


def _tool_choice(request: Request) -> dict[str, str]:
    if not request.tools or request.tool_choice == "none":
        return {"type": "none"}
    if request.tool_choice in ("auto", "required"):
        return {"type": "auto" if request.tool_choice == "auto" else "any"}
    return {"type": "tool", "name": request.tool_choice}


@dataclass(slots=True)
class _GrowingCall:
    call_id: str
    name: str
    arguments: str = ""


class EventReader:
    """Converter of one reply's events to deltas: text and thoughts at once, tool calls once complete.

    server: name in the log, and owner of the thoughts.
    """

    def __init__(self, server: str = "") -> None:
        self._server = server
        self._calls: dict[int, _GrowingCall] = {}
        self._thoughts: dict[int, dict[str, Any]] = {}
        self._finish: str | None = None
        self._ended = False
        self._usage = Usage()
        self.started = False
        """True once the model has written anything."""

    @property
    def ended(self) -> bool:
        """True once the server has said why the reply ended: only token counts follow."""
        return self._finish is not None

    def push(self, event: RawMessageStreamEvent) -> Delta | None:
        """Return the delta in this event, or None."""
        match event.type:
            case "message_start":
                self._usage = usage_of(event.message.usage)
            case "content_block_start" if event.content_block.type == "tool_use":
                self.started = True
                self._calls[event.index] = _GrowingCall(event.content_block.id, event.content_block.name)
            case "content_block_start" if event.content_block.type in ("thinking", "redacted_thinking"):
                self.started = True
                self._thoughts[event.index] = event.content_block.model_dump(exclude_none=True)
            case "content_block_delta" if event.delta.type == "thinking_delta":
                self.started = True
                self._thoughts[event.index]["thinking"] += event.delta.thinking
                return Delta(thought=event.delta.thinking)
            case "content_block_delta" if event.delta.type == "signature_delta":
                self._thoughts[event.index]["signature"] = event.delta.signature
            case "content_block_delta" if event.delta.type == "text_delta" and event.delta.text:
                self.started = True
                return Delta(event.delta.text)
            case "content_block_delta" if event.delta.type == "input_json_delta":
                self._calls[event.index].arguments += event.delta.partial_json
            case "message_delta":
                self._finish = event.delta.stop_reason or self._finish
                self._usage = usage_of(event.usage, self._usage)
            case "message_stop":
                self._ended = True
        return None

    def finish(self) -> list[Delta]:
        """Return the calls and the last delta.

        Raises BrokenStream if the stream broke off, RefusedError if the model or a filter refused to answer.
        """
        if self._finish is None and not self._ended:
            raise BrokenStream("the stream ended before the reply did")
        reason = finish_reason(self._finish, self._server)
        # on the first call: the API requires the unchanged thoughts that led to it
        thoughts = join_opaque(self._server, thoughts=[block for _, block in sorted(self._thoughts.items())])
        calls = tuple(
            ToolCall(call.call_id, call.name, call.arguments or "{}", "" if number else thoughts)
            for number, (_, call) in enumerate(sorted(self._calls.items()))
        )
        last = Delta(finish_reason="tool_calls" if calls else reason, usage=self._usage)
        return [Delta(tool_calls=calls), last] if calls else [last]


def usage_of(reported: ReportedUsage | MessageDeltaUsage, before: Usage | None = None) -> Usage:
    """Return the token counts. The prompt is the sum of tokens read from the cache, written to it, and
    uncached.

    before: an earlier report, which stays valid for counts that this one leaves out.
    """
    if reported.input_tokens is None:
        return replace(before or Usage(), completion_tokens=reported.output_tokens)
    read, written = reported.cache_read_input_tokens or 0, reported.cache_creation_input_tokens or 0
    prompt = reported.input_tokens + read + written
    return Usage(prompt, read, reported.output_tokens, written_tokens=written)
