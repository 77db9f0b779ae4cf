"""OpenAI's chat completions as data: request bodies, and the deltas of a stream of chunks.

The format is that of https://platform.openai.com/docs/api-reference/chat (streaming), and of compatible
servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta

from llmcore.engine import Delta, Message, Request, ServerError, ToolCall, Usage
from llmcore.engines.growing_calls import GrowingCall, GrowingCalls, merge
from llmcore.engines.remote_failures import AttemptFailed, BrokenStream, error_in_stream
from llmcore.text.call_arguments import sendable_arguments
from llmcore.text.finish_words import finish_reason, names_an_end
from llmcore.text.message_shapes import ANY_SHAPE, Shapes
from llmcore.text.reshaping import adapt_messages, adapt_tools
from llmcore.text.tool_calls import join_opaque, new_call_id, opaque_of, sendable_name

END_FIELD = "end_log_probability"
"""Usage field of our own replicas with the log probability that the message ends."""
ENGINE_FAILED = "engine_failed"
"""Error type in the stream of our own replicas: the engine failed, and not only this reply."""
STREAM_ENDED: Final = "the stream ended"
"""Sentinel after the last chunk of a stream that ended properly."""
_REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Message fields with the model's thoughts: DeepSeek's, which most servers use, and the newer one."""
_REASONING_DETAILS = ("reasoning_details", "thinking_blocks")
"""Fields with the thoughts in a form to be sent back: OpenRouter's, LiteLLM's."""
_STANDARD_FIELDS = frozenset(
    ("role", "content", "refusal", "tool_calls", "function_call", "name", "token_ids", "logprobs")
)
"""Fields of a message that are not sent back as opaque data."""


def request_body(request: Request, shapes: Shapes = ANY_SHAPE, server: str = "") -> dict[str, Any]:
    """Return the fields of a streamed request that depend on the conversation.

    shapes: message shapes that the server refuses. server: only this server's opaque fields are sent back.
    """
    body: dict[str, Any] = {
        "messages": [
            _message(message, shapes, server) for message in adapt_messages(request.messages, shapes)
        ],
        "temperature": request.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.stop:
        body["stop"] = list(request.stop)
    if tools := adapt_tools(request.tools, shapes):
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
    message_fields = dict(opaque_of(message.opaque, server).get("message", {}))
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls and not message.content and not shapes.accepts("empty_content"):
        body["content"] = None
    if message.images:
        words = [{"type": "text", "text": message.content}] if message.content else []
        images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
        body["content"] = [*words, *images]
    calls = []
    for call in message.tool_calls:
        opaque = opaque_of(call.opaque, server)
        message_fields |= opaque.get("message", {})
        function = {"name": sendable_name(call.name), "arguments": sendable_arguments(call.arguments)}
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
    return {**message_fields, **body}


def _tool_choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


class ChunkReader:
    """Converter of one reply's chunks to deltas: text and thoughts at once, tool calls once complete.

    server: name in the log, and owner of the opaque fields.
    """

    def __init__(self, server: str = "") -> None:
        self._server = server
        self._calls = GrowingCalls()
        self._finish: str | None = None
        self._ended = False
        self._went_on = False  # after a finish reason: some servers send "stop" with every chunk
        self._extra: dict[str, Any] = {}
        self._usage = Usage()
        self.started = False
        """True once the model has written anything, thoughts included."""

    @property
    def ended(self) -> bool:
        """True once the server has said why the reply ended: only token counts follow."""
        return names_an_end(self._finish) and not self._went_on

    def push(self, chunk: ChatCompletionChunk | str) -> Delta | None:
        """Return the delta in this chunk, or None. Raises AttemptFailed for an error in the stream."""
        if isinstance(chunk, str):
            self._ended = True
            return None
        if error := error_in_chunk(chunk):
            raise stream_error(error)
        if chunk.usage is None and chunk.choices and chunk.choices[0].finish_reason:
            chunk.usage = _usage_elsewhere(chunk)
        if chunk.usage is not None:
            self._usage = _usage(chunk)
        if not chunk.choices:  # the usage comes alone, after the end
            return None
        choice = chunk.choices[0]
        followed = names_an_end(self._finish)
        self._finish = choice.finish_reason or self._finish
        delta = self._delta_of(choice)
        if delta is None:
            return None
        words = _text(delta.content) or delta.refusal or ""  # a refusal takes the place of content
        thought = _thought(delta.content) if isinstance(delta.content, list) else ""
        if delta.model_extra:
            thought = thought or _reasoning(delta.model_extra)
            merge(
                self._extra,
                {key: each for key, each in delta.model_extra.items() if key not in _STANDARD_FIELDS},
            )
        written = bool(words or thought or delta.tool_calls)
        self.started = self.started or written
        self._went_on = self._went_on or (followed and written)
        for piece in _pieces(delta):
            self._calls.add(piece)
        return Delta(words, thought=thought) if words or thought else None

    def _delta_of(self, choice: Choice) -> ChoiceDelta | None:
        """Return what a chunk adds: its `delta`, null from some servers, or a whole message, not streamed."""
        delta: ChoiceDelta | None = choice.delta
        message = (choice.model_extra or {}).get("message")
        if delta is None and isinstance(message, dict) and not self.started:
            return ChoiceDelta.construct(None, **message)
        return delta

    def finish(self) -> list[Delta]:
        """Return the calls and the last delta.

        Raises BrokenStream if the stream broke off, AttemptFailed if the server says that it failed,
        RefusedError if a filter cut it.
        """
        if self._finish is None and not self._ended:
            raise BrokenStream("the stream ended before the reply did")
        if self._finish == "error":  # OpenRouter's, of a model's host that failed
            raise error_in_stream("the server says that the reply failed")
        reason = finish_reason(self._finish, self._server)
        calls = tuple(self._call(call, first=not number) for number, call in enumerate(self._calls.calls()))
        if not calls:
            extra = {key: each for key, each in self._extra.items() if not _is_reasoning(key)}
            opaque = join_opaque(self._server, message=extra)
            return [Delta(finish_reason=reason, usage=self._usage, opaque=opaque)]
        # vLLM says "stop" after a call that tool_choice named.
        return [Delta(tool_calls=calls), Delta(finish_reason="tool_calls", usage=self._usage)]

    def _call(self, call: GrowingCall, first: bool) -> ToolCall:
        """Return a finished call. The first one carries the message's opaque fields, thoughts included:
        models that think between tool calls need them back.
        """
        message_fields = self._extra if first else {}
        opaque = join_opaque(self._server, call=call.extra, function=call.of_function, message=message_fields)
        return ToolCall(call.call_id or new_call_id(), call.name, call.arguments, opaque)


def error_in_chunk(chunk: ChatCompletionChunk) -> Any:
    """Return the error that stands in place of a chunk, or in it; None without one.

    OpenAI and most servers send `error`, which others leave empty; Mistral and LMDeploy an object "error";
    Groq `x_groq.error`; OpenRouter an `error` in the choice; MiniMax a status beside null for the choices;
    gateways a `message` or `detail` alone.
    """
    extra = chunk.model_extra or {}
    if error := extra.get("error"):
        return error
    if str(chunk.object).lower() == "error":
        return extra
    groq = extra.get("x_groq")
    if isinstance(groq, dict) and groq.get("error"):
        return groq["error"]
    status = extra.get("base_resp")
    if not chunk.choices and isinstance(status, dict) and status.get("status_code"):
        return {"code": status["status_code"], "message": status.get("status_msg") or "no message"}
    if chunk.choices:
        return (getattr(chunk.choices[0], "model_extra", None) or {}).get("error")
    alone = chunk.choices is None and chunk.usage is None
    return (extra.get("message") or extra.get("detail")) if alone else None


def stream_error(error: Any) -> AttemptFailed:
    """Return the failure for an error in a stream: of this reply, unless our replica's engine failed."""
    text = str(error.get("message", error)) if isinstance(error, Mapping) else str(error)
    if isinstance(error, Mapping) and error.get("type") == ENGINE_FAILED:
        return AttemptFailed(text, kind=ServerError)
    return error_in_stream(text, error)


def _is_reasoning(key: str) -> bool:
    return key in _REASONING_FIELDS or key in _REASONING_DETAILS


def _reasoning(extra: Mapping[str, Any]) -> str:
    """Return the thoughts of a delta. Some servers send the same text under two names."""
    for key in _REASONING_FIELDS:
        if isinstance(text := extra.get(key), str) and text:
            return text
    details = extra.get("reasoning_details")
    texts = (each.get("text") or each.get("summary") for each in details or () if isinstance(each, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _text(content: Any) -> str | None:
    """Return the text to speak. Mistral's reasoning models send a list of parts, some of them thoughts."""
    content = [content] if isinstance(content, dict) else content
    if not isinstance(content, list):
        return None if content is None else str(content)
    return "".join(
        str(part.get("text", "")) for part in content if part.get("type") in ("text", "output_text")
    )


def _thought(content: Iterable[Any]) -> str:
    """Return the thoughts in a list content: Mistral's `thinking` parts, which contain text parts."""
    thoughts = (part.get("thinking") for part in content if part.get("type") == "thinking")
    return "".join(each if isinstance(each, str) else _text(each) or "" for each in thoughts)


def _pieces(delta: ChoiceDelta) -> Iterable[Mapping[str, Any]]:
    """Return the pieces of tool calls. TGI 2 sends one piece instead of a list; older servers send
    `function_call`, and llama-cpp-python the same call in both.
    """
    found: Any = delta.tool_calls or ()
    if isinstance(found, dict):
        return [found]
    if not found and delta.function_call is not None:
        return [{"function": delta.function_call.model_dump(exclude_none=True, warnings=False)}]
    return [piece.model_dump(exclude_none=True, warnings=False) for piece in found]


def _usage_elsewhere(chunk: ChatCompletionChunk) -> CompletionUsage | None:
    """Return the token counts of Kimi, which stand in the choice, or of Groq, in a field of its own."""
    groq = (chunk.model_extra or {}).get("x_groq")
    counts = (chunk.choices[0].model_extra or {}).get("usage")
    counts = counts or (groq.get("usage") if isinstance(groq, dict) else None)
    return CompletionUsage.construct(None, **counts) if isinstance(counts, dict) else None


def _usage(chunk: ChatCompletionChunk) -> Usage:
    """Return the token counts.

    Cached tokens are in OpenAI's details (also vLLM, SGLang, TensorRT-LLM), in a field of its own (Kimi,
    DeepSeek) or in the timings (llama.cpp).
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
        usage.prompt_tokens or 0,
        int(cached or 0),
        usage.completion_tokens or 0,
        written_tokens=written or 0,
        thought_tokens=(thoughts.reasoning_tokens if thoughts is not None else None) or 0,
        end_log_probability=others.get(END_FIELD),
    )
