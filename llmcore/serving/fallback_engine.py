"""An engine with a fallback: time-outs, a circuit breaker, and a second engine if the first fails."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from llmcore.engine import (
    READING,
    BusyError,
    Delta,
    Llm,
    LlmError,
    ReplyError,
    Request,
    RequestError,
    ServerError,
    SetupError,
    Usage,
    is_server_failure,
)
from llmcore.policies.circuit_breaker import CircuitBreaker
from llmcore.policies.must_answer import ask_for_words, words_precede_result
from llmcore.serving.joined_engines import JoinedEngines
from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout

FallbackReason = Literal["error", "timeout", "busy", "circuit_open", "setup", "reply"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TimeOuts:
    """Time limits of a reply. first_token_s: from the request to the first piece, in addition to the
    request's `reading_s`. stall_s: between two pieces.
    """

    first_token_s: float
    stall_s: float


class _TimedOut(ServerError):
    """The engine exceeded a time limit."""


class _CircuitOpen(ServerError):
    """The engine failed too often; the circuit breaker blocks requests to it."""


class _EmptyReply(ReplyError):
    """The engine's reply has neither words nor calls. last: its last delta."""

    def __init__(self, text: str, last: Delta) -> None:
        super().__init__(text)
        self.last = last


class FallbackLlm(JoinedEngines):
    """An LLM with a fallback: `fallback`, if there is one, answers if `primary` fails before its first piece.

    A later failure is raised, as words already spoken cannot be withdrawn. If the reply has neither words nor
    calls, the primary is asked a second time first (`ask_for_words`); a second empty reply ends an answer
    whose words preceded a tool's result. A RequestError does not count against the engine, and only its
    subclass ReplyError (an unusable reply) goes to the fallback. Both engines start at once: to load the
    fallback on demand would be too slow. observe: called with the reason for the primary's failure.
    """

    def __init__(
        self,
        primary: Llm,
        fallback: Llm | None,
        breaker: CircuitBreaker,
        time_outs: TimeOuts,
        observe: Callable[[FallbackReason], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(*filter(None, (primary, fallback)))
        self._primary = primary
        self._fallback = fallback
        self._breaker = breaker
        self._time_outs = time_outs
        self._observe = observe
        self._clock = clock
        self._last_failure = ""

    @property
    def problem(self) -> str:
        """Reason that the circuit breaker blocks the primary; "" if it does not."""
        if self._breaker.state == "closed":
            return ""
        return f"it keeps failing; it is tried again in {self._breaker.wait_s(self._clock()):.1f} s"

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply with the primary, or with the fallback if it fails. Raises LlmError."""
        started = False
        try:
            async with aclosing(self._retry_empty_reply(request)) as deltas:
                async for delta in deltas:
                    started = started or bool(delta.text or delta.tool_calls)
                    yield delta
            return
        except LlmError as error:
            if isinstance(error, RequestError) and not isinstance(error, ReplyError):
                raise
            self._observe(_reason(error))
            if started or self._fallback is None:
                raise
            log.warning("the engine failed, and the fallback answers: %s", error)
        async with aclosing(_require_words(self._fallback.generate(request))) as deltas:
            async for delta in deltas:
                yield delta

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at the primary, unless its circuit is open. Raises LlmError."""
        if self._breaker.state != "closed":
            raise _CircuitOpen("the engine is failing, no prefill now")
        return await self._primary.prefill(request)

    async def _retry_empty_reply(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the primary's reply, or its second one if the first has no words. Raises LlmError."""
        try:
            async with aclosing(_require_words(self._report_outcome(request))) as deltas:
                async for delta in deltas:
                    yield delta
            return
        except _EmptyReply as error:
            log.warning("%s; retrying once", error)
            empty = error
        try:
            async with aclosing(_require_words(self._report_outcome(ask_for_words(request)))) as deltas:
                async for delta in deltas:
                    yield delta
        except ReplyError as error:
            if not (isinstance(error, _EmptyReply) and words_precede_result(request)):
                raise
            yield error.last
        except RequestError:
            # not every server takes calls in the history of a request without tools
            raise empty from None

    async def _report_outcome(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the primary's reply, and report its outcome to the circuit breaker. Raises LlmError."""
        now_s = self._clock()
        if not self._breaker.allows(now_s):
            raise _CircuitOpen(
                f"the engine failed too often and is tried again in {self._breaker.wait_s(now_s):.1f} s; "
                f"the last time: {self._last_failure}"
            )
        record_outcome = self._breaker.record_cancelled  # if cancelled before the first piece
        try:
            async with aclosing(self._enforce_time_outs(request)) as deltas:
                async for delta in deltas:
                    # at the first piece: a caller who hangs up in the middle of a reply says nothing against
                    # the engine
                    record_outcome = self._succeeded
                    yield delta
        # the engine answered, though not with a reply: it is healthy
        except (RequestError, BusyError):
            record_outcome = self._succeeded
            raise
        except LlmError as error:
            if is_server_failure(error):
                self._last_failure = str(error)
                record_outcome = self._failed
            raise
        finally:
            record_outcome()

    async def _enforce_time_outs(self, request: Request) -> AsyncGenerator[Delta, None]:
        async with aclosing(self._primary.generate(request)) as deltas:
            # two limits: prefill may take long, but a reply that has begun must not stall
            limit_s, expected = self._time_outs.first_token_s + request.reading_s, "first token"
            timeout = PauseTolerantTimeout(limit_s)
            while True:
                try:
                    async with timeout:
                        delta = await anext(deltas, None)
                except TimeoutError:
                    raise _TimedOut(f"the engine gave no {expected} within {limit_s:.3g} s") from None
                if delta is None:
                    return
                yield delta
                limit_s, expected = self._time_outs.stall_s, "further token"
                timeout.restart(limit_s)

    def _succeeded(self) -> None:
        if self._breaker.state != "closed":
            log.warning("the engine answers again")
        self._breaker.record_success()

    def _failed(self) -> None:
        before, now_s = self._breaker.state, self._clock()
        self._breaker.record_failure(now_s)
        if self._breaker.state == "open" and before != "open":
            left_s = self._breaker.wait_s(now_s)
            log.error(
                "no requests to the engine for %.1f s, as it keeps failing: %s", left_s, self._last_failure
            )


async def _require_words(deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
    """Yield `deltas`, held back until the first word or call. Raises LlmError if neither arrives."""
    held: list[Delta] | None = []
    async with aclosing(deltas):
        async for delta in deltas:
            if held is None or delta == READING or (delta.thought and not delta.text):
                yield delta
                continue
            if delta.finish_reason is not None and not (delta.tool_calls or _has_words(delta)):
                raise _EmptyReply(_describe_empty(held, delta), delta)
            held.append(delta)
            if delta.tool_calls or _has_words(delta):
                for each in held:
                    yield each
                held = None


def _has_words(delta: Delta) -> bool:
    return any(map(str.isalnum, delta.text))


def _describe_empty(held: list[Delta], last: Delta) -> str:
    """Return a description of an empty reply for the log."""
    written, usage = "".join(delta.text for delta in held), last.usage or Usage()
    thoughts = f", all {usage.thought_tokens} tokens of it thoughts" if usage.thought_tokens else ""
    longer = " up to the limit (agent.max_output_tokens)" if last.finish_reason == "length" else ""
    return f"the engine's reply has no words: {written!r}{thoughts}{longer}"


def _reason(error: LlmError) -> FallbackReason:
    match error:
        case ReplyError():
            return "reply"
        case SetupError():
            return "setup"
        case _TimedOut():
            return "timeout"
        case _CircuitOpen():
            return "circuit_open"
        case BusyError():
            return "busy"
        case _:
            return "error"
