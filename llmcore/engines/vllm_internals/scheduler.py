"""Runs in vLLM's own process, as its scheduler: prompts that yield are laid aside for those of callers.

vLLM's priority orders who waits, but a long prompt that has begun takes part in every step, also in the one
that reads a caller's prompt, and makes it as much slower. Made for vLLM 0.24 to 0.32: of its scheduler, only
what is the same in all of these is touched. `EngineCore.post_step` is replaced as well: what a draft proposed
is asked for where it was told to propose (`proposals`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.core import EngineCore

from llmcore.engines.vllm_internals.proposals import ProposesForSome, fetch_if_asked
from llmcore.engines.vllm_marks import YIELDS, marked

MAX_STEPS_ASIDE = 200
"""Then those that yield are read in a step beside the others: nobody starves, whatever those wait for."""
FULL = 0.9
"""Part of the cache that is taken, from which nobody is laid aside: they are whom vLLM puts back for room."""

if TYPE_CHECKING:
    _Base = Scheduler
else:
    _Base = object


class _Turns(_Base):
    """What the two schedulers below add to those of vLLM."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # vLLM would cut the prompts of callers by this limit too.
        config = self.scheduler_config
        self._piece_tokens = config.long_prefill_token_threshold or config.max_num_batched_tokens
        config.long_prefill_token_threshold = 0
        self._steps_aside = 0

    def schedule(self, *arguments: Any, **options: Any) -> Any:
        """Choose what the next step computes."""
        running = [request for request in self.running if self._yields(request)]
        waiting = {request for request in self.waiting if self._yields(request)}
        if not running and not waiting:
            self._steps_aside = 0
            return super().schedule(*arguments, **options)
        callers, patient = self._callers_are_read(), self._steps_aside < MAX_STEPS_ASIDE
        if callers and patient and self.kv_cache_manager.usage < FULL:
            self._steps_aside += 1
            with self._without(running, waiting):
                return super().schedule(*arguments, **options)
        self._steps_aside = 0
        with self._in_pieces(running, self.max_num_scheduled_tokens if callers else self._piece_tokens):
            return super().schedule(*arguments, **options)

    def _yields(self, request: Any) -> bool:
        return _is_read(request) and marked(request, YIELDS)

    def _callers_are_read(self) -> bool:
        """Whether the next step can read some of a prompt that does not yield."""
        candidates = list(self.running)
        if len(self.running) < self.max_num_running_reqs:
            candidates += self.waiting
        return any(_is_read(request) and not marked(request, YIELDS) for request in candidates)

    @contextmanager
    def _without(self, running: list[Any], waiting: set[Any]) -> Iterator[None]:
        """Those that are laid aside keep their place and their part of the cache, but are not seen."""
        limits = {name: getattr(self, name) for name in _SLOTS if hasattr(self, name)}
        for name, slots in limits.items():
            # those laid aside hold their place: without this the step would take in more than fit when they
            # return
            setattr(self, name, slots - len(running))
        self.running = [request for request in self.running if request not in running]
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
    def _in_pieces(self, running: list[Any], piece_tokens: int) -> Iterator[None]:
        """The step writes for each reply, and reads at most so much of prompts: those that yield last.

        A caller who comes while it is computed waits for no more than that.
        """
        limit = self.max_num_scheduled_tokens
        writing = [request for request in self.running if request not in running]
        self.max_num_scheduled_tokens = min(limit, len(writing) * (1 + self.num_spec_tokens) + piece_tokens)
        self.running = writing + running
        try:
            yield
        finally:
            self.max_num_scheduled_tokens = limit


_SLOTS = ("max_num_running_reqs", "max_num_active_reqs")  # the second since vLLM 0.32


def _is_read(request: Any) -> bool:
    return bool(request.num_computed_tokens < request.num_prompt_tokens)


class TurnScheduler(_Turns, ProposesForSome, Scheduler):
    """For engines that compute one step after the other, as on a CPU."""


class AsyncTurnScheduler(_Turns, ProposesForSome, AsyncScheduler):
    """For engines that choose the next step while one is computed."""


EngineCore.post_step = fetch_if_asked(EngineCore.post_step)  # type: ignore[method-assign, assignment]
