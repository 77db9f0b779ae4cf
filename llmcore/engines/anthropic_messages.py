"""Anthropic's Messages API as data: a request's body with its cache breakpoints, and the deltas of a stream.

The format is that of https://docs.claude.com/en/api/messages (streaming) and of its prompt caching
(https://docs.claude.com/en/docs/build-with-claude/prompt-caching).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Literal

from anthropic.types import MessageDeltaUsage, RawMessageStreamEvent
from anthropic.types import Usage as ReportedUsage

from llmcore.engine import Delta, FinishReason, Message, Request, ToolCall, Usage
from llmcore.engines.hosted_engine import BrokenStream
from llmcore.text.tool_calls import sendable_name

CacheTtl = Literal["5m", "1h"]

OPENING = "(The call begins.)"
"""The API wants the user to speak first, and there where an agent greets nobody has."""
_GO_ON = "(Go on.)"
"""The API does not take a reply as the last message either: this stands behind one."""

_NO_RESULT = "(No result yet.)"

_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


def request_body(request: Request, ttl: CacheTtl) -> dict[str, Any]:
    """The fields of a request that depend on the conversation.

    Two breakpoints: what all calls share ends with the system prompt (and the tools, which the API puts
    before it), and what this call has for certain ends before the newest message. That one may still change,
    while the caller goes on; to write it into the cache would be paid for each time.
    """
    marked = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
    split = next((n for n, message in enumerate(request.messages) if message.role != "system"), None)
    system = [_text(message.content) for message in request.messages[:split]]
    messages = _messages(request.messages[split:] if split is not None else ())
    tools = _tools(request)
    if system:
        system[-1] |= marked
    elif tools:
        tools[-1] |= marked
    if len(messages) > 1:
        messages[-2]["content"][-1] |= marked
    body: dict[str, Any] = {"messages": messages}
    if system:
        body["system"] = system
    if stops := [stop for stop in request.stop if stop.strip()]:  # blank ones are refused
        body["stop_sequences"] = stops
    if tools:
        body |= {"tools": tools, "tool_choice": _tool_choice(request)}
    return body


def cached_part(body: dict[str, Any]) -> bytes:
    """A digest of what `body` leaves in the cache: all up to its last breakpoint."""
    parts = [body.get("tools"), body.get("system"), body["messages"][:-1]]
    return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).digest()


def shared_part(body: dict[str, Any]) -> dict[str, Any] | None:
    """What calls share of `body`, as a body of its own; None where they share nothing."""
    shared = {field: body[field] for field in ("system", "tools", "tool_choice") if field in body}
    return shared | {"messages": [{"role": "user", "content": [_text(OPENING)]}]} if shared else None


def _messages(history: tuple[Message, ...]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for message in history:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if not messages and role == "assistant":
            messages.append({"role": "user", "content": [_text(OPENING)]})
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    if not messages:
        messages.append({"role": "user", "content": [_text(OPENING)]})
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": [_text(_GO_ON)]})
    for asked, answered in pairwise([{"content": []}, *messages]):
        if answered["role"] == "user":
            answered["content"] = _answers(asked["content"], answered["content"])
    return messages


def _answers(asked: list[dict[str, Any]], blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A user's message: the results of the calls right before it first, one each, then all else as words.

    The API takes a history in no other order, and a tool may be slower than the caller.
    """
    results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    first = [
        results.pop(block["id"], _result(block["id"], _NO_RESULT))
        for block in asked
        if block["type"] == "tool_use"
    ]
    late = [_text(f"<tool_result>{block['content']}</tool_result>") for block in results.values()]
    return first + late + [block for block in blocks if block["type"] != "tool_result"]


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [_result(message.tool_call_id, message.content)]
    text = f"<system>{message.content}</system>" if message.role == "system" else message.content
    calls = [
        {
            "type": "tool_use",
            "id": call.call_id,
            "name": sendable_name(call.name),
            "input": _arguments(call.arguments),
        }
        for call in message.tool_calls
    ]
    images = [_image(image) for image in message.images]
    return images + ([_text(text)] if text.strip() else []) + calls  # an empty text is refused


def _image(url: str) -> dict[str, Any]:
    """Return the block of a picture, a data URL."""
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _result(call_id: str | None, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def _arguments(text: str) -> dict[str, Any]:
    """The API wants an object where a model may have written anything."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"arguments": text}


def _tools(request: Request) -> list[dict[str, Any]]:
    """The tools, and the names of those that were called before: a history with others is refused."""
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
    """Takes the events of one reply and makes deltas: text at once, tool calls when they are complete."""

    def __init__(self) -> None:
        self._calls: dict[int, _GrowingCall] = {}
        self._finish: str | None = None
        self._usage = Usage()
        self.started = False
        """Whether the model has written anything."""

    def push(self, event: RawMessageStreamEvent) -> Delta | None:
        """The delta in this event, None when it has nothing to say."""
        match event.type:
            case "message_start":
                self._usage = usage_of(event.message.usage)
            case "content_block_start" if event.content_block.type == "tool_use":
                self.started = True
                self._calls[event.index] = _GrowingCall(event.content_block.id, event.content_block.name)
            case "content_block_delta" if event.delta.type == "text_delta" and event.delta.text:
                self.started = True
                return Delta(event.delta.text)
            case "content_block_delta" if event.delta.type == "input_json_delta":
                self._calls[event.index].arguments += event.delta.partial_json
            case "message_delta":
                self._finish = event.delta.stop_reason or self._finish
                self._usage = usage_of(event.usage, self._usage)
        return None

    def finish(self) -> list[Delta]:
        """The calls, and the last delta. Raises BrokenStream when the reply ended early or was refused."""
        if self._finish is None:
            raise BrokenStream("the stream ended before the reply did")
        if self._finish not in _FINISH:
            raise BrokenStream(f"the server ended the reply: {self._finish}")
        calls = tuple(
            ToolCall(call.call_id, call.name, call.arguments or "{}")
            for _, call in sorted(self._calls.items())
        )
        last = Delta(finish_reason=_FINISH[self._finish], usage=self._usage)
        return [Delta(tool_calls=calls), last] if calls else [last]


def usage_of(told: ReportedUsage | MessageDeltaUsage, before: Usage | None = None) -> Usage:
    """The counts. The API tells apart what was read from the cache, what was written to it, and the rest; all
    three are the prompt. A later report that leaves them out does not change what was told `before`.
    """
    if told.input_tokens is None:
        return replace(before or Usage(), completion_tokens=told.output_tokens)
    read, written = told.cache_read_input_tokens or 0, told.cache_creation_input_tokens or 0
    prompt = told.input_tokens + read + written
    return Usage(prompt, read, told.output_tokens, written_tokens=written)
