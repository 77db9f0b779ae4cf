"""The LLM as the rest sees it: what an engine does, and the data that moves through it.

An engine is matched by shape, not by inheritance. Closing the iterator that `generate` returned is the abort.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls"]
PriorityClass = Literal["turn", "long", "preemptive", "prefill", "summary"]
"""What a request is for, the most urgent first: a turn's reply, that of a turn with much to read, one that
may be dropped, prefill while speaking, or a summary of old turns.
"""

LOGGED_IF_SET = {"logged": "if_set"}
"""Metadata of a field that call logs omit while it is empty."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call by the model. `arguments` is JSON text exactly as the model wrote it.

    opaque: the server's own data about the call, its message and its reasoning, sent back to that server
    unchanged. JSON text that only the server's engine reads; "" for none.
    """

    call_id: str
    name: str
    arguments: str
    opaque: str = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat. `tool_call_id` is set on role "tool" only, `tool_calls` on "assistant" only.

    opaque: as in `ToolCall`, for a message without calls. images: a user's pictures as data URLs, for vision
    models.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    opaque: str = field(default="", metadata=LOGGED_IF_SET)
    images: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generation:
    """What to generate.

    messages: static first (system prompt), then the history, the newest turn last.
    max_tokens: a cap on the reply. temperature: 0 is greedy.
    tool_choice: "auto", "none", "required", or the name of one tool.
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

    priority_class, due_s: purpose, and time at which the first token is due (monotonic seconds); requests are
    ordered by these. priority: that order for the engine's own queue, if it has one: smaller runs first.
    caller: id of the caller; requests of one caller share that caller's state, "" shares nothing.
    traceparent: parent span (W3C Trace Context) for engines that make spans; "" without tracing. reading_s:
    allowance for prefill concurrent with other prompts, from the prompt's length; added to the time-outs.
    new_tokens: estimated prompt tokens that are in no cache. asks_end: `prefill` must report the probability
    that a sentence, or the message, ends after the last message's words.
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
    """What a draft may do for one request.

    proposals: how many times it may propose tokens for the reply; None sets no limit. reads: whether it reads
    the prompt also where it may propose none, for others that begin the same. begins_at: how many tokens of
    the reply are written before it takes part, in reading too.
    """

    proposals: int | None = None
    reads: bool = True
    begins_at: int = 0


FREE_DRAFT = DraftUse()
"""A draft that nobody limits."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request. cached_tokens: prompt tokens whose prefill the cache saved.

    queue_s: time in the engine's queue, if the engine reports it. gate_s: time before admission to the
    engine. written_tokens: prompt tokens written to a cache, if its provider charges for that and reports
    them. thought_tokens: completion tokens that are thoughts; if the server does not report them, the number
    of their pieces. end_log_probability: for a prefill with `asks_end`, the natural logarithm of the
    summed probability of the tokens that close a sentence or the message (`text/closing_tokens`); None if the
    engine does not report it.
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
    """The next piece of a reply: text, finished tool calls, or (last) the finish reason and the usage.

    pieces: number of pieces of the engine; more than one if several were joined on the way. thought:
    reasoning text, which is never spoken. opaque: with the last delta, as in `Message`.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    pieces: int = 1
    thought: str = ""
    opaque: str = ""


STEP_BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0)
"""Bounds of the histogram of what steps take; the last bucket is of longer ones."""
STEP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
"""The same for the tokens and the replies of a step."""


@dataclass(frozen=True, slots=True)
class Steps:
    """What the steps of an engine came to since its start, and what they are limited to now.

    seconds, tokens, sequences: histograms, as the counts of each bucket and then the sum; a sequence is a
    reply that is written, or whose prompt is read. max_tokens, max_sequences: of the next step.
    """

    seconds: tuple[float, ...]
    tokens: tuple[float, ...]
    sequences: tuple[float, ...]
    max_tokens: int
    max_sequences: int


@dataclass(frozen=True, slots=True)
class Eviction:
    """Blocks that left the prefix cache to make room. of: what they had been computed for. by: what the room
    was for. whose: "own" where both were of one caller.
    """

    of: str
    by: str
    whose: str
    blocks: int


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What an engine reports of itself; None where it does not. Counts of tokens are since its start.

    cache_usage: part of the cache that is taken, 0 to 1. preemptions: replies put back to make room.
    drafted, accepted: tokens that speculation proposed, and those that were right; accepted_at: the latter by
    their position in a proposal. drafts: proposals. steps: of the engine. evictions: counts since its start.
    """

    running: int = 0
    waiting: int = 0
    cache_usage: float | None = None
    preemptions: int | None = None
    drafts: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    accepted_at: tuple[int, ...] = ()
    steps: Steps | None = None
    evictions: tuple[Eviction, ...] = ()


class LlmError(Exception):
    """The engine did not answer; the text says why.

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
    """The engine is well, but cannot answer this request: a prompt too long, a tool that is not offered."""


class LimitError(RequestError):
    """The request is more than one may be; the text names the limit, and may be told to whoever asked."""


class RefusedError(RequestError):
    """A filter or a moderation refused the request or its reply; no other engine is tried."""


class ReplyError(RequestError):
    """The reply to this request is unusable: an error inside it, an unreadable call, or no words at all. A
    retry, or another engine, may succeed.
    """


def is_server_failure(error: LlmError) -> bool:
    """Return True if the error counts against the engine, and is not of one request or of this side."""
    return not isinstance(error, RequestError | BusyError | SetupError)


class Llm(Protocol):
    """A streaming chat model."""

    async def start(self) -> None:
        """Load the model and be ready to generate. Raises LlmError."""

    async def close(self) -> None:
        """Release everything; a second call does nothing."""

    def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply. The last delta has `finish_reason` and `usage`.

        Closing the generator aborts the request and does not wait for the engine. Raises LlmError.
        """
        ...

    async def prefill(self, request: Request) -> Usage | None:
        """Read the prompt of `request` into the prefix cache without generating.

        `request.messages` ends with an unfinished user message: its closing mark is not read. Returns the
        usage, or None where the engine has no cache that a later `generate` could hit, and need not be asked
        again; with `asks_end` the message's end is told in it, where the engine can. Raises BusyError where
        it has no room now, else LlmError.
        """


@runtime_checkable
class ReportsLoad(Protocol):
    """An engine that reports its load; others are measured from outside only."""

    def load(self) -> EngineLoad:
        """The load now. Cheap, and never raises."""
        ...


@runtime_checkable
class SupportsHurry(Protocol):
    """Something that requests wait in, and that can still let one of them go before the others."""

    def hurry(self, caller: str, due_s: float, priority: int = 0) -> None:
        """The preemptive request of this caller, if one waits, is a turn's from now on. Never raises.

        due_s, priority: as in `Request`, the latter for an engine with a queue of its own.
        """
        ...


@runtime_checkable
class SupportsSpeculation(Llm, ReportsLoad, Protocol):
    """An engine that may have a draft model, and is told with each request what the draft may do."""

    @property
    def has_draft(self) -> bool:
        """Whether it has one."""
        ...

    def generate(self, request: Request, draft: DraftUse = FREE_DRAFT) -> AsyncGenerator[Delta, None]:
        """Generate a reply, as `Llm` says. draft: what a draft may do for it. Raises LlmError."""
        ...

    async def prefill(self, request: Request, draft: DraftUse = FREE_DRAFT) -> Usage | None:
        """Read the prompt, as `Llm` says. draft: what a draft may do for it. Raises LlmError."""
