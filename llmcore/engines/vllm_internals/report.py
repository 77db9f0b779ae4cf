"""Runs in vLLM's own process, as a part of its scheduler: what steps came to, and who evicted whom.

vLLM tells neither what its steps took nor whose an evicted block was. Both are known here. The server asks
for the report whenever it looks whether the engine's loop turns. By what steps take, the next one is kept
smaller or larger (`batch_limits`), where that is set.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llmcore.engine import STEP_BUCKETS_S, STEP_SIZES
from llmcore.engines.vllm_marks import owner_of
from llmcore.engines.vllm_settings import BATCH_BOUNDS
from llmcore.policies.batch_limits import BatchBounds, BatchLimits

if TYPE_CHECKING:
    from vllm.v1.core.sched.scheduler import Scheduler as _Base
else:
    _Base = object

_BEGUN = "llmcore_begun_s"
"""An attribute of a step: when it was chosen."""
SLOTS = ("max_num_running_reqs", "max_num_active_reqs")
"""A scheduler's limits of replies computed at once; the second since vLLM 0.32."""


class Buckets:
    """A histogram. counts: of values up to each bound, and of those beyond the last."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """One more."""
        self.counts[sum(value > bound for bound in self._bounds)] += 1
        self.total += value

    def as_list(self) -> list[float]:
        """The counts, then the sum of the values."""
        return [*self.counts, self.total]


class Reports(_Base):
    """Stands before a scheduler of vLLM's among the bases of ours. clock: seconds."""

    clock = staticmethod(time.monotonic)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._step_s, self._tokens = Buckets(STEP_BUCKETS_S), Buckets(STEP_SIZES)
        self._sequences = Buckets(STEP_SIZES)
        self._over_s = 0.0
        additional: Any = self.vllm_config.additional_config
        bounds = (additional or {}).get(BATCH_BOUNDS)
        self._limits = BatchLimits(BatchBounds(**bounds)) if bounds else None
        self._max_sequences = {name: getattr(self, name) for name in SLOTS if hasattr(self, name)}
        self._max_tokens = self.max_num_scheduled_tokens
        self._evictions = watch_evictions(self.kv_cache_manager)

    def schedule(self, *arguments: Any, **options: Any) -> Any:
        """Choose what the next step computes, within the limits of the moment."""
        begun_s = self.clock()
        if self._limits is not None:
            self._set_limits(self._limits)
        output = super().schedule(*arguments, **options)
        setattr(output, _BEGUN, begun_s)
        return output

    def _set_limits(self, limits: BatchLimits) -> None:
        writes = any(request.num_output_tokens for request in self.running)
        self.max_num_scheduled_tokens = limits.tokens if writes else self._max_tokens
        for name, most in self._max_sequences.items():  # never fewer than there are
            setattr(self, name, min(most, max(limits.sequences, len(self.running))))

    def update_from_output(self, scheduler_output: Any, *arguments: Any, **options: Any) -> Any:
        """A step is over."""
        now_s = self.clock()
        computed = scheduler_output.num_scheduled_tokens
        # One that was chosen while the step before it was computed began when that was over.
        took_s = now_s - max(getattr(scheduler_output, _BEGUN, now_s), self._over_s)
        self._over_s = now_s
        if computed:
            self._step_s.add(took_s)
            self._tokens.add(sum(computed.values()))
            self._sequences.add(len(computed))
        if self._limits is not None and self._writes(computed):
            self._limits.observe(took_s, sum(computed.values()), len(computed), len(self.waiting))
        return super().update_from_output(scheduler_output, *arguments, **options)

    def _writes(self, computed: dict[str, int]) -> bool:
        requests = (self.requests.get(request_id) for request_id in computed)
        return any(request is not None and request.num_output_tokens for request in requests)

    def report(self) -> dict[str, Any]:
        """What `llmcore.engines.vllm_load` reads: only numbers, lists and texts, as it goes between
        processes.
        """
        limits = self._limits
        return {
            "step_s": self._step_s.as_list(),
            "tokens": self._tokens.as_list(),
            "sequences": self._sequences.as_list(),
            "max_tokens": limits.tokens if limits else self.max_num_scheduled_tokens,
            "max_sequences": limits.sequences if limits else self.scheduler_config.max_num_seqs,
            "evicted": [[*whose, blocks] for whose, blocks in self._evictions.items()],
        }


def report(core: Any) -> dict[str, Any]:
    """A method for EngineCore: the server calls it by name."""
    found: dict[str, Any] = core.scheduler.report()
    return found


def watch_evictions(manager: Any) -> Counter[tuple[str, str, str]]:
    """Count the blocks that leave a KV cache manager's prefix cache to make room: by what they were computed
    for, what the room is for, and whether both are of one caller ("own") or not ("other").
    """
    evicted: Counter[tuple[str, str, str]] = Counter()
    owners: dict[int, tuple[str, str]] = {}
    pool, now = manager.block_pool, ["", ""]
    cache_full_blocks, allocate_slots = pool.cache_full_blocks, manager.allocate_slots
    evict = pool._maybe_evict_cached_block

    def cache(request: Any, blocks: Any, num_cached_blocks: int, num_full_blocks: int, **options: Any) -> Any:
        for block in blocks[num_cached_blocks:num_full_blocks]:
            owners[block.block_id] = owner_of(request)
        return cache_full_blocks(request, blocks, num_cached_blocks, num_full_blocks, **options)

    def allocate(request: Any, *arguments: Any, **options: Any) -> Any:
        now[:] = owner_of(request)
        return allocate_slots(request, *arguments, **options)

    def evict_and_count(block: Any) -> Any:
        gone = evict(block)
        if gone and (owner := owners.pop(block.block_id, None)) is not None:
            caller, was_for = owner
            own = "own" if caller and caller == now[0] else "other"
            evicted[was_for, now[1], own] += 1
        return gone

    pool.cache_full_blocks, manager.allocate_slots = cache, allocate
    pool._maybe_evict_cached_block = evict_and_count
    return evicted


def install(core: type) -> None:
    """Give EngineCore the method that the server calls."""
    method: Callable[[Any], dict[str, Any]] = report
    core.llmcore_report = method  # type: ignore[attr-defined]
