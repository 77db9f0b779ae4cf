"""OpenAI's chat completions as data: a request's body, and the deltas that a stream of chunks makes.

The format is that of https://platform.openai.com/docs/api-reference/chat (streaming), as other servers speak
it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta

from llmcore.engine import Delta, Message, Request, ServerError, ToolCall, Usage
from llmcore.engines.growing_calls import GrowingCall, GrowingCalls, merge
from llmcore.engines.hosted_engine import AttemptFailed, BrokenStream, error_in_stream
from llmcore.text.finish_words import finish_reason
from llmcore.text.message_shapes import ANY, Shapes
from llmcore.text.reshaping import as_sent, sent_tools
from llmcore.text.tool_calls import join_opaque, new_call_id, opaque_of, sendable_name

END_FIELD = "end_log_probability"
"""The field of the usage with our own replicas' word on whether a message ends."""
ENGINE_FAILED = "engine_failed"
"""The type of an error in the stream of our own replicas: the engine failed, and not only this reply."""
STREAM_ENDED: Final = "the stream ended"
"""Stands behind the last chunk of a stream that ended in order."""
_REASONING = ("reasoning_content", "reasoning")
"""Fields of a message with the model's thoughts: DeepSeek's, which most servers have, and the newer one."""
_REASONING_DETAILS = ("reasoning_details", "thinking_blocks")
"""Fields with the same in a form that is to be sent back: OpenRouter's, LiteLLM's."""
_KNOWN = frozenset(
    ("role", "content", "refusal", "tool_calls", "function_call", "name", "token_ids", "logprobs")
)
"""Fields of a message that are not sent back beside it."""


def request_body(request: Request, shapes: Shapes = ANY, server: str = "") -> dict[str, Any]:
    """Return the fields of a streamed request that depend on the conversation: messages, tools, stops,
    temperature. shapes: those that the server refuses. server: whose opaque fields go back with messages
    and calls.
    """
    body: dict[str, Any] = {
        "messages": [_message(message, shapes, server) for message in as_sent(request.messages, shapes)],
        "temperature": request.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.stop:
        body["stop"] = list(request.stop)
    if tools := sent_tools(request.tools, shapes):
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters or {"type": "object", "properties": {}},
                },
            }
            for tool in tools
        ]
        body["tool_choice"] = _tool_choice(request.tool_choice)
    return body


def _message(message: Message, shapes: Shapes, server: str) -> dict[str, Any]:
    of_message = dict(opaque_of(message.opaque, server).get("message", {}))
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls and not message.content and not shapes.takes("empty_content"):
        body["content"] = None
    if message.images:
        words = [{"type": "text", "text": message.content}] if message.content else []
        images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
        body["content"] = [*words, *images]
    calls = []
    for call in message.tool_calls:
        opaque = opaque_of(call.opaque, server)
        of_message |= opaque.get("message", {})
        function = {"name": sendable_name(call.name), "arguments": call.arguments}
        calls.append(
            {
                **opaque.get("call", {}),
                "id": call.call_id,
                "type": "function",
                "function": {**opaque.get("function", {}), **function},
            }
        )
    if calls:
        body["tool_calls"] = calls
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return {**of_message, **body}


def _tool_choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


class ChunkReader:
    """Takes the chunks of one reply and makes deltas: text and thoughts at once, tool calls when they are
    complete. server: what it is called in the log, and whose the opaque fields are.
    """

    def __init__(self, server: str = "") -> None:
        self._server = server
        self._calls = GrowingCalls()
        self._finish: str | None = None
        self._ended = False
        self._extra: dict[str, Any] = {}
        self._usage = Usage()
        self.started = False
        """Whether the model has written anything, thoughts too."""

    def push(self, chunk: ChatCompletionChunk | str) -> Delta | None:
        """The delta in this chunk, None when it has nothing to say. Raises AttemptFailed for an error in the
        stream."""
        if isinstance(chunk, str):
            self._ended = True
            return None
        error = (chunk.model_extra or {}).get("error")
        if error is not None:
            raise stream_error(error)
        if chunk.usage is not None:
            self._usage = _usage(chunk)
        if not chunk.choices:  # the usage comes alone, after the end
            return None
        choice = chunk.choices[0]
        self._finish = choice.finish_reason or self._finish
        delta: ChoiceDelta | None = choice.delta  # null from some servers
        if delta is None:
            return None
        words = _text(delta.content) or delta.refusal or ""  # which stands where content would
        thought = _thought(delta.content) if isinstance(delta.content, list) else ""
        if delta.model_extra:
            thought = thought or _reasoning(delta.model_extra)
            merge(self._extra, {key: each for key, each in delta.model_extra.items() if key not in _KNOWN})
        self.started = self.started or bool(words or thought or delta.tool_calls)
        for piece in _pieces(delta):
            self._calls.add(piece)
        return Delta(words, thought=thought) if words or thought else None

    def finish(self) -> list[Delta]:
        """The calls, and the last delta. Raises BrokenStream where the stream broke off, RefusedError where a
        filter cut it."""
        if self._finish is None and not self._ended:
            raise BrokenStream("the stream ended before the reply did")
        reason = finish_reason(self._finish, self._server)
        calls = tuple(self._call(call, first=not number) for number, call in enumerate(self._calls.calls()))
        if not calls:
            extra = {key: each for key, each in self._extra.items() if not _is_reasoning(key)}
            opaque = join_opaque(self._server, message=extra)
            return [Delta(finish_reason=reason, usage=self._usage, opaque=opaque)]
        # vLLM says "stop" after a call that tool_choice named.
        return [Delta(tool_calls=calls), Delta(finish_reason="tool_calls", usage=self._usage)]

    def _call(self, call: GrowingCall, first: bool) -> ToolCall:
        """The call. What belongs to the message goes with its first one, the thoughts too: models that think
        between calls of tools are to be given them back.
        """
        of_message = self._extra if first else {}
        opaque = join_opaque(self._server, call=call.extra, function=call.of_function, message=of_message)
        return ToolCall(call.call_id or new_call_id(), call.name, call.arguments, opaque)


def stream_error(error: Any) -> AttemptFailed:
    """Return the failure that an error in a stream is: of this reply, unless a replica of ours tells more."""
    text = str(error.get("message", error)) if isinstance(error, Mapping) else str(error)
    if isinstance(error, Mapping) and error.get("type") == ENGINE_FAILED:
        return AttemptFailed(text, kind=ServerError)
    return error_in_stream(text, error)


def _is_reasoning(key: str) -> bool:
    return key in _REASONING or key in _REASONING_DETAILS


def _reasoning(extra: Mapping[str, Any]) -> str:
    """The thoughts of a delta: one text, though some servers send it under two names."""
    for key in _REASONING:
        if isinstance(text := extra.get(key), str) and text:
            return text
    details = extra.get("reasoning_details")
    texts = (each.get("text") or each.get("summary") for each in details or () if isinstance(each, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _text(content: Any) -> str | None:
    """What is to be said; Mistral's reasoning models have a list of parts, of which some are thoughts."""
    if not isinstance(content, list):
        return None if content is None else str(content)
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _thought(content: Iterable[Any]) -> str:
    """The thoughts among the parts of a content: Mistral's `thinking`, whose parts are texts again."""
    thoughts = (part.get("thinking") for part in content if part.get("type") == "thinking")
    return "".join(each if isinstance(each, str) else _text(each) or "" for each in thoughts)


def _pieces(delta: ChoiceDelta) -> Iterable[Mapping[str, Any]]:
    """Pieces of tool calls; TGI's second version has one where others have a list. Older servers have the one
    call that `function_call` allows.
    """
    if delta.function_call is not None:
        return [{"function": delta.function_call.model_dump(exclude_none=True, warnings=False)}]
    found: Any = delta.tool_calls or ()
    if isinstance(found, dict):
        return [found]
    return [piece.model_dump(exclude_none=True, warnings=False) for piece in found]


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
    thoughts = usage.completion_tokens_details
    return Usage(
        usage.prompt_tokens,
        int(cached or 0),
        usage.completion_tokens,
        written_tokens=written or 0,
        thought_tokens=(thoughts.reasoning_tokens if thoughts is not None else None) or 0,
        end_log_probability=others.get(END_FIELD),
    )
