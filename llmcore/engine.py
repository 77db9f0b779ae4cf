"""The LLM interface: the `Llm` protocol and the data exchanged with an engine.

An engine is matched by shape, not by inheritance. Closing the iterator returned by `generate` aborts the
request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from llmcore.engine_load import ReportsLoad

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls"]
PriorityClass = Literal["turn", "long", "preemptive", "review", "prefill", "summary"]
"""Purpose of a request, most urgent first: a turn's reply, a turn's reply with a long prompt, a preemptive
reply (it may be dropped), the review of a reply, prefill while speaking, and a summary of old turns.
"""

LOGGED_IF_SET = {"logged": "if_set"}
"""Metadata of a field that call logs omit while it is empty."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call by the model.

    Attributes:
        call_id: id by which the result refers to the call.
        name: the function's name.
        arguments: JSON text exactly as the model wrote it.
        opaque: the server's own data about the call, its message and its reasoning, sent back to that server
            unchanged. JSON text that only the server's engine reads; "" for none.
    """

    call_id: str
    name: str
    arguments: str
    opaque: str = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat.

    Attributes:
        role: who wrote it.
        content: its text.
        tool_calls: calls of the model, on role "assistant" only.
        tool_call_id: call that this is the result of, on role "tool" only.
        opaque: as in `ToolCall`, for a message without calls.
        images: a user's pictures as data URLs, for vision models.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    opaque: str = field(default="", metadata=LOGGED_IF_SET)
    images: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call.

    Attributes:
        name: its name.
        description: what it is for, for the model.
        parameters: JSON schema of its arguments.
        takes_unknown_calls: a call of a tool that is not offered is a call of this one, without arguments.
            For a tool that hands the caller's request on: a small model invents a tool for the request in its
            place.
    """

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)
    takes_unknown_calls: bool = field(default=False, compare=False, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation to perform.

    Attributes:
        messages: static first (system prompt), then the history, the newest turn last.
        tools: functions that the model may call.
        tool_choice: "auto", "none", "required", or the name of one tool.
        max_tokens: a cap on the reply.
        temperature: 0 is greedy.
        stop: texts before which the reply ends.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    max_tokens: int = 200
    temperature: float = 0.0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request(Generation):
    """A generation with its purpose, caller and deadline.

    Attributes:
        priority_class: purpose of the request; it and `due_s` order requests.
        due_s: time at which the first token is due, in monotonic seconds.
        priority: the same order for the engine's own queue, if it has one: smaller runs first.
        caller: id of the caller; requests of one caller share that caller's state, "" shares nothing.
        traceparent: parent span (W3C Trace Context) for engines that make spans; "" without tracing.
        reading_s: allowance for prefill concurrent with other prompts, from the prompt's length; added to the
            time-outs.
        new_tokens: estimated uncached prompt tokens.
        asks_end: `prefill` must report the probability that a sentence, or the message, ends after the last
            message's words.
    """

    priority_class: PriorityClass = "turn"
    due_s: float | None = None
    priority: int = 0
    caller: str = ""
    traceparent: str = ""
    reading_s: float = 0.0
    new_tokens: int = 0
    asks_end: bool = False


@dataclass(frozen=True, slots=True)
class DraftUse:
    """Permissions of a draft model for one request.

    Attributes:
        proposals: how many times it may propose tokens; None sets no limit.
        reads: True if it also reads prompts that it may propose nothing for, to share their prefix with later
            requests.
        begins_at: tokens of the reply written before the draft takes part, reading included.
    """

    proposals: int | None = None
    reads: bool = True
    begins_at: int = 0


FREE_DRAFT = DraftUse()
"""A draft without limits."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request.

    Attributes:
        prompt_tokens: all tokens of the prompt.
        cached_tokens: those of them whose prefill the cache saved.
        completion_tokens: tokens that the model wrote.
        queue_s: time in the engine's queue; None if the engine does not report it.
        gate_s: time before admission to the engine.
        written_tokens: prompt tokens written to a cache, if its provider charges for that and reports them.
        thought_tokens: completion tokens that are thoughts; if the server does not report them, the number of
            their pieces.
        end_log_probability: for a prefill with `asks_end`, the natural logarithm of the summed probability of
            the tokens that close a sentence or the message (`text/closing_tokens`); None if the engine does
            not report it.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    queue_s: float | None = None
    gate_s: float = 0.0
    written_tokens: int = 0
    thought_tokens: int = 0
    end_log_probability: float | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of a reply.

    Attributes:
        text: words to speak.
        tool_calls: calls that are complete.
        finish_reason: set in the last piece only.
        usage: set in the last piece only.
        pieces: number of pieces of the engine; more than one if several were joined on the way.
        thought: reasoning text, which is never spoken.
        opaque: with the last piece, as in `Message`.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    pieces: int = 1
    thought: str = ""
    opaque: str = ""


READING = Delta(pieces=0)
"""Sign of an engine that still reads a prompt: it is slow, and does not hang."""


class LlmError(Exception):
    """A failed request; the text gives the reason.

    Each subclass is one of three kinds: a failure of the server, of one request, or of this side. A plain
    `LlmError` counts as the server's.
    """


class ServerError(LlmError):
    """The server failed: no connection, status 5xx, a broken stream, or a time-out."""


class SetupError(LlmError):
    """This side is at fault: the engine is not started, the key is wrong, or the model does not exist."""


class BusyError(LlmError):
    """The engine is healthy, but has no capacity for this request now."""


class RequestError(LlmError):
    """The engine is healthy but cannot answer this request: a prompt too long, or a tool not offered."""


class LimitError(RequestError):
    """The request exceeds a limit. The text names it and may be shown to the client."""


class RefusedError(RequestError):
    """A filter or a moderation refused the request or its reply; no other engine is tried."""


class ReplyError(RequestError):
    """The reply to this request is unusable: an error in the stream, an unreadable call, or no words at all.
    A retry, or another engine, may succeed.
    """


def is_permanent(error: LlmError) -> bool:
    """Return True if the same request would be refused again: the key, the model or the request is wrong."""
    return isinstance(error, SetupError | RequestError) and not isinstance(error, ReplyError)


def is_server_failure(error: LlmError) -> bool:
    """Return True if the error counts against the engine rather than against one request or this side."""
    return not isinstance(error, RequestError | BusyError | SetupError)


class Llm(Protocol):
    """A streaming chat model: the interface of every engine."""

    async def start(self) -> None:
        """Load the model.

        Raises:
            LlmError: the engine cannot start.
        """

    async def close(self) -> None:
        """Release all resources; a second call does nothing."""

    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply. Closing the generator aborts the request without waiting for the engine.

        Args:
            request: the prompt and its settings.

        Yields:
            The reply in pieces; the last has `finish_reason` and `usage`.

        Raises:
            LlmError: the engine failed or refused.
        """
        ...

    async def prefill(self, request: Request) -> Usage | None:
        """Read the prompt of `request` into the prefix cache without generating.

        Args:
            request: its messages end with an unfinished user message, whose closing token is not read.

        Returns:
            The usage, with `end_log_probability` if `asks_end` is set and the engine can report it. None if
            the engine has no cache that a later `generate` could hit; it need not be asked again.

        Raises:
            BusyError: the engine has no room now.
            LlmError: the engine failed.
        """


@runtime_checkable
class SupportsPriorityRaise(Protocol):
    """A queue of requests whose priority can be raised while they wait."""

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Turn this caller's preemptive request, if one waits, into a turn's request. Never raises.

        Args:
            caller: as in `Request`.
            due_s: the new deadline, as in `Request`.
            priority: as in `Request`, for an engine with its own queue.
        """
        ...


@runtime_checkable
class SupportsSpeculation(Llm, ReportsLoad, Protocol):
    """An engine that may have a draft model. Each request says how the draft may be used."""

    @property
    def has_draft(self) -> bool:
        """True if a draft model is loaded."""
        ...

    def generate(self, request: Request, draft: DraftUse = FREE_DRAFT) -> AsyncGenerator[Delta, None]:
        """Generate a reply, as `Llm.generate` does.

        Args:
            request: the prompt and its settings.
            draft: permissions of the draft model.
        """
        ...

    async def prefill(self, request: Request, draft: DraftUse = FREE_DRAFT) -> Usage | None:
        """Read the prompt, as `Llm.prefill` does.

        Args:
            request: the prompt.
            draft: permissions of the draft model.
        """
