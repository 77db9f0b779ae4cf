"""An engine with a draft model, and the policy that decides for each reply if the draft takes part."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from llmcore.engine import Delta, DraftUse, Request, SupportsSpeculation, Usage
from llmcore.engine_load import EngineLoad
from llmcore.policies.speculation import Decision, Reason, ReplyTimes, Speculation, State

log = logging.getLogger(__name__)


class SpeculatingLlm:
    """A pass-through to `engine` that adds the proposals granted by `policy`.

    observe: called with the reason of each decision.
    """

    def __init__(
        self,
        engine: SupportsSpeculation,
        policy: Speculation,
        observe: Callable[[Reason], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._policy = policy
        self._observe = observe
        self._clock = clock
        self._streams = 0

    @property
    def state(self) -> State:
        """State of the draft: on trial, on or off."""
        return self._policy.state

    @property
    def acceptance(self) -> float | None:
        """Recent accepted share of the proposed tokens; None before the first."""
        return self._policy.acceptance

    @property
    def why_off(self) -> Reason | None:
        """Reason while the draft is off: "acceptance" or "cost"."""
        return self._policy.why_off

    def load(self) -> EngineLoad:
        """Return the engine's report, after updating the policy with it."""
        load = self._engine.load()
        before = self._policy.state
        self._policy.observe(self._clock(), load)
        self._log_change(before)
        return load

    async def start(self) -> None:
        """Start the engine. Raises LlmError."""
        await self._engine.start()

    async def close(self) -> None:
        await self._engine.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply, with the draft if that pays. Raises LlmError."""
        self._streams += 1
        try:
            # the decision needs the newest counters, and nothing else may have fetched them
            self.load()
            before = self._policy.state
            decision = self._policy.decide(self._clock(), self._streams, request.max_tokens)
            self._log_change(before)
            self._observe(decision.reason)
            reads = self._policy.should_draft_read(self._clock())
            draft = DraftUse(decision.proposals, reads, decision.begins_at)
            requested_s, first_s = self._clock(), None
            async with aclosing(self._engine.generate(request, draft)) as deltas:
                async for delta in deltas:
                    first_s = self._clock() if first_s is None else first_s
                    if delta.usage is not None:
                        self._record_reply(decision, requested_s, first_s, delta.usage.completion_tokens)
                    yield delta
        finally:
            self._streams -= 1

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at the engine, without proposals. Raises LlmError."""
        draft = DraftUse(0, self._policy.should_draft_read(self._clock()))
        return await self._engine.prefill(request, draft)

    def _record_reply(self, decision: Decision, requested_s: float, first_s: float, tokens: int) -> None:
        before, now_s = self._policy.state, self._clock()
        token_s = (now_s - first_s) / (tokens - 1) if tokens > 1 else 0.0
        self._policy.on_reply_done(now_s, decision, ReplyTimes(tokens, first_s - requested_s, token_s))
        self._log_change(before)

    def _log_change(self, before: State) -> None:
        state = self._policy.state
        if state == before:
            return
        right = f"{self._policy.acceptance or 0:.0%} of the draft's tokens are right"
        if self._policy.why_off == "cost":
            log.warning(
                "speculation is off and will be tried again: replies end no sooner with it, %s", right
            )
        elif state == "off":
            log.warning("speculation is off and will be tried again: only %s", right)
        elif state == "on":
            log.info("speculation is on: %s", right)
        else:
            log.info("speculation is on trial again")
