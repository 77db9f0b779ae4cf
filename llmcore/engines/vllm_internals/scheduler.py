"""Scheduler in vLLM's own process: defers prompts that yield while callers' prompts are read.

vLLM's priority orders the waiting requests only. A long prompt that has begun takes part in every step, and
slows down steps that read a caller's prompt. Here it takes part in such a step only if it would otherwise be
late (`behind_pace`). On a GPU, background steps read it, and the steps in between only write answers
(`background_prefill`).

For vLLM 0.24 to 0.33: only parts of its scheduler that are the same in all of these are touched.
`EngineCore.post_step` is replaced as well: a draft's proposals are fetched only if the draft was asked to
propose (`proposals`). `report` returns statistics of the steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.core import EngineCore

from llmcore.engines.vllm_internals.proposals import SelectiveDrafting, skip_unneeded_fetch
from llmcore.engines.vllm_internals.report import SLOT_LIMITS, StepReporting, install
from llmcore.engines.vllm_marks import YIELDS, behind_pace, marked, unread_tokens
from llmcore.policies.background_prefill import BackgroundPrefill

MAX_DEFERRED_STEPS = 200
"""Steps after which yielding prompts are read next to the others, to prevent starvation."""
FULL_SHARE = 0.9
"""Share of the cache in use from which no request is deferred: vLLM would preempt exactly those."""

_BACKGROUND_S = "llmcore_background_s"
"""Attribute of a step that reads prompts in the background: the time at which it was chosen."""

if TYPE_CHECKING:
    _Base = Scheduler
else:
    _Base = object


class _CallersFirst(_Base):
    """Mixin of the two schedulers below; must precede vLLM's in the MRO.

    now_s: clock of the requests' arrival times. clock: monotonic seconds.
    """

    now_s = staticmethod(time.time)
    clock = staticmethod(time.monotonic)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # vLLM would apply this limit to callers' prompts too
        config = self.scheduler_config
        self._piece_tokens = config.long_prefill_token_threshold or config.max_num_batched_tokens
        config.long_prefill_token_threshold = 0
        self._deferred_steps = 0
        graphs = self.vllm_config.compilation_config.cudagraph_capture_sizes  # empty on a CPU
        self._background = BackgroundPrefill(self._piece_tokens) if graphs else None
        self._step_ended_s = 0.0

    def schedule(self, *arguments: Any, **options: Any) -> Any:
        running = [request for request in self.running if _yields(request)]
        waiting = [request for request in self.waiting if _yields(request)]
        if not running and not waiting:
            self._deferred_steps = 0
            return super().schedule(*arguments, **options)
        if not self._reads_callers() and self._may_read_background(running, waiting):
            self._deferred_steps = 0
            with self._one_piece(running):
                output = super().schedule(*arguments, **options)
            self._mark_background(output, running + waiting)
            return output
        deferred = self._select_deferred(running + waiting)
        self._deferred_steps = self._deferred_steps + 1 if deferred else 0
        some_read = len(deferred) < len(running) + len(waiting)
        with self._hidden(deferred), self._equal_pieces() if some_read else nullcontext():
            return super().schedule(*arguments, **options)

    def update_from_output(self, scheduler_output: Any, *arguments: Any, **options: Any) -> Any:
        """Record the time of a background step, and process the step's result."""
        now_s = self.clock()
        scheduled_s = getattr(scheduler_output, _BACKGROUND_S, None)
        if scheduled_s is not None and self._background is not None:
            # a step chosen while another was computed begins at that one's end
            self._background.end(now_s, now_s - max(scheduled_s, self._step_ended_s))
        self._step_ended_s = now_s
        return super().update_from_output(scheduler_output, *arguments, **options)

    def _may_read_background(self, running: list[Any], waiting: list[Any]) -> bool:
        """Return True if the next step may read prompts that yield.

        Always True without CUDA graphs: the cost of a step then follows its tokens, and pauses save nothing.
        """
        if self._background is None:
            return True
        unread = sum(unread_tokens(request) for request in running + waiting)
        return self._background.may_start(self.clock(), len(self.running) - len(running), unread)

    def _mark_background(self, output: Any, yielding: list[Any]) -> None:
        """Mark a step that reads any of these, so that its end is recognized."""
        tokens_by_request = output.num_scheduled_tokens
        if self._background is not None and any(one.request_id in tokens_by_request for one in yielding):
            self._background.begin()
            setattr(output, _BACKGROUND_S, self.clock())

    def _select_deferred(self, yielding: list[Any]) -> list[Any]:
        """Return the requests to leave out of a step that reads callers' prompts."""
        if self._deferred_steps >= MAX_DEFERRED_STEPS or self.kv_cache_manager.usage >= FULL_SHARE:
            return []
        now_s = self.now_s()
        return [request for request in yielding if not behind_pace(request, now_s)]

    def _reads_callers(self) -> bool:
        """Return True if the next step can read part of a prompt that does not yield."""
        candidates = list(self.running)
        if len(self.running) < self.max_num_running_reqs:
            candidates += self.waiting
        return any(_in_prefill(request) and not marked(request, YIELDS) for request in candidates)

    @contextmanager
    def _hidden(self, deferred: list[Any]) -> Iterator[None]:
        """Hide the deferred requests from a step; they keep their slot and their blocks."""
        hidden_requests = set(deferred)
        running = [request for request in self.running if request in hidden_requests]
        waiting = hidden_requests.difference(running)
        limits = {name: getattr(self, name) for name in SLOT_LIMITS if hasattr(self, name)}
        for name, slots in limits.items():
            # Deferred requests keep their slots; otherwise the step would admit more than fit on their
            # return.
            setattr(self, name, slots - len(running))
        self.running = [request for request in self.running if request not in hidden_requests]
        self.waiting.remove_requests(waiting)
        try:
            yield
        finally:
            self.running += running
            for request in waiting:
                self.waiting.add_request(request)
            for name, slots in limits.items():
                setattr(self, name, slots)

    @contextmanager
    def _one_piece(self, running: list[Any]) -> Iterator[None]:
        """Limit the step to one piece of prompts in addition to each reply's next token.

        A caller who arrives meanwhile waits for that piece only. running: the requests being read.
        """
        limit = self.max_num_scheduled_tokens
        writing = [request for request in self.running if request not in running]
        tokens = len(writing) * (1 + self.num_spec_tokens) + self._piece_tokens
        self.max_num_scheduled_tokens = min(limit, tokens)
        self.running = writing + running
        try:
            yield
        finally:
            self.max_num_scheduled_tokens = limit

    @contextmanager
    def _equal_pieces(self) -> Iterator[None]:
        """Limit the step to one piece of each prompt, so that a late one cannot take it from a caller's."""
        self.scheduler_config.long_prefill_token_threshold = self._piece_tokens
        try:
            yield
        finally:
            self.scheduler_config.long_prefill_token_threshold = 0


def _in_prefill(request: Any) -> bool:
    return bool(request.num_computed_tokens < request.num_prompt_tokens)


def _yields(request: Any) -> bool:
    return _in_prefill(request) and marked(request, YIELDS)


class TurnScheduler(StepReporting, _CallersFirst, SelectiveDrafting, Scheduler):
    """Scheduler of engines that compute one step at a time, as on a CPU."""


class AsyncTurnScheduler(StepReporting, _CallersFirst, SelectiveDrafting, AsyncScheduler):
    """Scheduler of engines that schedule the next step while one is computed."""


EngineCore.post_step = skip_unneeded_fetch(EngineCore.post_step)  # type: ignore[method-assign, assignment]
install(EngineCore)
