"""OpenAI's chat completions as data: a request's body, and the deltas that a stream of chunks makes.

The format is that of https://platform.openai.com/docs/api-reference/chat (streaming), as other servers speak
it too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

from llmcore.engine import Delta, FinishReason, Message, Request, ToolCall, Usage
from llmcore.engines.hosted_engine import BrokenStream
from llmcore.text.tool_calls import new_call_id, sendable_name

END_FIELD = "end_log_probability"
"""The field of the usage with our own replicas' word on whether a message ends."""
_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "eos_token": "stop",  # TGI's own words
    "stop_sequence": "stop",
}


def request_body(request: Request) -> dict[str, Any]:
    """The fields of a streamed request that depend on the conversation: messages, tools, stops,
    temperature."""
    body: dict[str, Any] = {
        "messages": [_message(message) for message in request.messages],
        "temperature": request.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.stop:
        body["stop"] = list(request.stop)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters or {"type": "object", "properties": {}},
                },
            }
            for tool in request.tools
        ]
        body["tool_choice"] = _tool_choice(request.tool_choice)
    return body


def _message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        words = [{"type": "text", "text": message.content}] if message.content else []
        images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
        body["content"] = [*words, *images]
    if message.tool_calls:
        body["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": sendable_name(call.name), "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _tool_choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


@dataclass(slots=True)
class _GrowingCall:
    call_id: str = ""
    name: str = ""
    arguments: str = ""

    def add(self, piece: ChoiceDeltaToolCall) -> None:
        self.call_id = self.call_id or piece.id or ""
        if piece.function is not None:
            self.name += piece.function.name or ""
            arguments: Any = piece.function.arguments or ""  # some servers send the object itself
            self.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def is_other(self, piece: ChoiceDeltaToolCall) -> bool:
        """Whether a piece begins another call: some servers give all of them one index, or none."""
        name = piece.function.name if piece.function is not None else None
        return bool(name and piece.id and self.call_id and piece.id != self.call_id)


class ChunkReader:
    """Takes the chunks of one reply and makes deltas: text at once, tool calls when they are complete."""

    def __init__(self) -> None:
        self._calls: list[_GrowingCall] = []
        self._growing: dict[int | None, _GrowingCall] = {}  # the newest of each index
        self._finish: str | None = None
        self._usage = Usage()
        self.started = False
        """Whether the model has written anything."""

    def push(self, chunk: ChatCompletionChunk) -> Delta | None:
        """The delta in this chunk, None when it has nothing to say. Raises BrokenStream for an error in the
        stream."""
        error = (chunk.model_extra or {}).get("error")
        if error is not None:
            raise BrokenStream(str(error.get("message", error)) if isinstance(error, dict) else str(error))
        if chunk.usage is not None:
            self._usage = _usage(chunk)
        if not chunk.choices:  # the usage comes alone, after the end
            return None
        choice = chunk.choices[0]
        self._finish = choice.finish_reason or self._finish
        delta: ChoiceDelta | None = choice.delta  # null from some servers
        if delta is None:
            return None
        words = _text(delta.content) or delta.refusal  # which stands where content would
        self.started = self.started or bool(words or delta.tool_calls)
        for piece in _pieces(delta):
            self._add(piece)
        return Delta(words) if words else None

    def _add(self, piece: ChoiceDeltaToolCall) -> None:
        growing = self._growing.get(piece.index)
        if growing is None or growing.is_other(piece):
            growing = self._growing[piece.index] = _GrowingCall()
            self._calls.append(growing)
        growing.add(piece)

    def finish(self) -> list[Delta]:
        """The calls, and the last delta. Raises BrokenStream when the stream ended early or was cut by a
        filter."""
        if self._finish is None:
            raise BrokenStream("the stream ended before the reply did")
        if self._finish not in _FINISH:
            raise BrokenStream(f"the server ended the reply: {self._finish}")
        calls = tuple(
            ToolCall(call.call_id or new_call_id(), call.name, call.arguments or "{}") for call in self._calls
        )
        # vLLM says "stop" after a call that tool_choice named.
        reason: FinishReason = "tool_calls" if calls else _FINISH[self._finish]
        last = Delta(finish_reason=reason, usage=self._usage)
        return [Delta(tool_calls=calls), last] if calls else [last]


def _text(content: Any) -> str | None:
    """What is to be said; Mistral's reasoning models have a list of parts, of which some are thoughts."""
    if not isinstance(content, list):
        return None if content is None else str(content)
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _pieces(delta: ChoiceDelta) -> Iterable[ChoiceDeltaToolCall]:
    """Pieces of tool calls; TGI's second version has one where others have a list."""
    found: Any = delta.tool_calls or ()
    return [ChoiceDeltaToolCall.model_validate(found)] if isinstance(found, dict) else found


def _usage(chunk: ChatCompletionChunk) -> Usage:
    """The counts. Cached tokens are OpenAI's detail, which vLLM, SGLang and TensorRT-LLM tell as well; or a
    field of Kimi's or DeepSeek's own, or among llama.cpp's timings.
    """
    usage = chunk.usage
    assert usage is not None
    details, others = usage.prompt_tokens_details, usage.model_extra or {}
    cached = details.cached_tokens if details is not None else None
    for field in ("cached_tokens", "prompt_cache_hit_tokens"):
        cached = cached or others.get(field)
    cached = cached or ((chunk.model_extra or {}).get("timings") or {}).get("cache_n")
    written = details.cache_write_tokens if details is not None else None
    return Usage(
        usage.prompt_tokens,
        int(cached or 0),
        usage.completion_tokens,
        written_tokens=written or 0,
        end_log_probability=others.get(END_FIELD),
    )
