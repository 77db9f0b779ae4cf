"""Part of the scheduler in vLLM's own process: statistics of steps, and of evictions by owner.

vLLM reports neither its step times nor the owners of evicted blocks. The server fetches the report with its
liveness check. If configured, step times also adjust the size of the next steps (`batch_limits`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llmcore.engine_load import STEP_BUCKETS_S, STEP_SIZES
from llmcore.engines.vllm_marks import owner_of
from llmcore.engines.vllm_settings import BATCH_BOUNDS
from llmcore.policies.batch_limits import BatchBounds, BatchLimits

if TYPE_CHECKING:
    from vllm.v1.core.sched.scheduler import Scheduler as _Base
else:
    _Base = object

_SCHEDULED_S = "llmcore_begun_s"
"""Attribute of a step: time at which it was scheduled."""
SLOT_LIMITS = ("max_num_running_reqs", "max_num_active_reqs")
"""A scheduler's limits of concurrent replies; the second since vLLM 0.32."""


class Histogram:
    """A histogram. counts: values up to each bound, and those beyond the last."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[sum(value > bound for bound in self._bounds)] += 1
        self.total += value

    def as_list(self) -> list[float]:
        """Return the counts, then the sum of the values."""
        return [*self.counts, self.total]


class StepReporting(_Base):
    """Mixin for vLLM's scheduler; must precede it in the MRO. clock: seconds."""

    clock = staticmethod(time.monotonic)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._step_s, self._tokens = Histogram(STEP_BUCKETS_S), Histogram(STEP_SIZES)
        self._sequences = Histogram(STEP_SIZES)
        self._ended_s = 0.0
        additional: Any = self.vllm_config.additional_config
        bounds = (additional or {}).get(BATCH_BOUNDS)
        self._limits = BatchLimits(BatchBounds(**bounds)) if bounds else None
        self._max_sequences = {name: getattr(self, name) for name in SLOT_LIMITS if hasattr(self, name)}
        self._max_tokens = self.max_num_scheduled_tokens
        self._evictions = watch_evictions(self.kv_cache_manager)

    def schedule(self, *arguments: Any, **options: Any) -> Any:
        """Schedule the next step within the current limits."""
        scheduled_s = self.clock()
        if self._limits is not None:
            self._set_limits(self._limits)
        output = super().schedule(*arguments, **options)
        setattr(output, _SCHEDULED_S, scheduled_s)
        return output

    def _set_limits(self, limits: BatchLimits) -> None:
        is_decoding = any(request.num_output_tokens for request in self.running)
        self.max_num_scheduled_tokens = limits.tokens if is_decoding else self._max_tokens
        for name, most in self._max_sequences.items():  # never fewer than are running
            setattr(self, name, min(most, max(limits.sequences, len(self.running))))

    def update_from_output(self, scheduler_output: Any, *arguments: Any, **options: Any) -> Any:
        """Record a finished step."""
        now_s = self.clock()
        tokens_by_request = scheduler_output.num_scheduled_tokens
        # A step scheduled while the previous one was computed begins at that one's end.
        step_s = now_s - max(getattr(scheduler_output, _SCHEDULED_S, now_s), self._ended_s)
        self._ended_s = now_s
        if tokens_by_request:
            self._step_s.add(step_s)
            self._tokens.add(sum(tokens_by_request.values()))
            self._sequences.add(len(tokens_by_request))
        if self._limits is not None and self._is_decoding(tokens_by_request):
            self._limits.observe(
                step_s, sum(tokens_by_request.values()), len(tokens_by_request), len(self.waiting)
            )
        return super().update_from_output(scheduler_output, *arguments, **options)

    def _is_decoding(self, tokens_by_request: dict[str, int]) -> bool:
        requests = (self.requests.get(request_id) for request_id in tokens_by_request)
        return any(request is not None and request.num_output_tokens for request in requests)

    def report(self) -> dict[str, Any]:
        """Return the report for `llmcore.engines.vllm_engine`: numbers, lists and texts, as it is sent on."""
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
    """Return the scheduler's report. Becomes a method of EngineCore, which the server calls by name."""
    found: dict[str, Any] = core.scheduler.report()
    return found


def watch_evictions(manager: Any) -> Counter[tuple[str, str, str]]:
    """Count the blocks evicted from a KV cache manager's prefix cache.

    Returns:
        Counts by purpose of the evicted block, purpose of the new one, and "own" if both are of one caller,
        else "other".
    """
    evicted: Counter[tuple[str, str, str]] = Counter()
    owners: dict[int, tuple[str, str]] = {}
    pool, current = manager.block_pool, ["", ""]
    cache_full_blocks, allocate_slots = pool.cache_full_blocks, manager.allocate_slots
    evict = pool._maybe_evict_cached_block

    def cache(request: Any, blocks: Any, num_cached_blocks: int, num_full_blocks: int, **options: Any) -> Any:
        for block in blocks[num_cached_blocks:num_full_blocks]:
            owners[block.block_id] = owner_of(request)
        return cache_full_blocks(request, blocks, num_cached_blocks, num_full_blocks, **options)

    def allocate(request: Any, *arguments: Any, **options: Any) -> Any:
        current[:] = owner_of(request)
        return allocate_slots(request, *arguments, **options)

    def evict_and_count(block: Any) -> Any:
        was_cached = evict(block)
        if was_cached and (owner := owners.pop(block.block_id, None)) is not None:
            caller, purpose = owner
            own = "own" if caller and caller == current[0] else "other"
            evicted[purpose, current[1], own] += 1
        return was_cached

    pool.cache_full_blocks, manager.allocate_slots = cache, allocate
    pool._maybe_evict_cached_block = evict_and_count
    return evicted


def install(core: type) -> None:
    """Add the method that the server calls to EngineCore."""
    method: Callable[[Any], dict[str, Any]] = report
    core.llmcore_report = method  # type: ignore[attr-defined]
