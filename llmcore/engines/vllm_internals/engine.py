"""Access to vLLM's internals from this process: choice of scheduler, metrics, liveness and shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, Metric
from prometheus_client.registry import Collector

from llmcore.policies.hang_detection import HangDetector
from llmcore.serving.busy_time import busy_time_s

ENGINE_PROCESS = "EngineCore"
"""Prefix of the names of an engine's processes."""
SCHEDULER_MODULE = "llmcore.engines.vllm_internals.scheduler"
"""Module of our schedulers."""


def choose_scheduler(config: Any) -> None:
    """Replace vLLM's scheduler by our equivalent if requests have priorities."""
    # a scheduler named in the settings is the operator's choice
    if config.policy == "priority" and config.scheduler_cls is None:
        kind = "AsyncTurnScheduler" if config.async_scheduling else "TurnScheduler"
        config.scheduler_cls = f"{SCHEDULER_MODULE}.{kind}"


def uses_second_runner(config: Any) -> bool:
    """Return True if vLLM uses its second model runner, which `speculation` does not patch."""
    return bool(getattr(config, "use_v2_model_runner", False))


class RunningMetrics(Collector):
    """Metrics of all vLLM engines of this process, labelled by number, from 1.

    vLLM itself removes all engines' metrics from prometheus_client's registry when it starts another engine.
    """

    def __init__(self) -> None:
        self._engines: dict[int, CollectorRegistry] = {}

    def add(self) -> CollectorRegistry:
        """Move the metrics of the engine started last into a registry of its own, and return it."""
        if self not in REGISTRY._collector_to_names:
            REGISTRY.register(self)
        registry = CollectorRegistry()
        for collector in list(REGISTRY._collector_to_names):
            if getattr(collector, "_name", "").startswith("vllm:"):
                REGISTRY.unregister(collector)
                registry.register(collector)
        self._engines[next(number for number in count(1) if number not in self._engines)] = registry
        return registry

    def remove(self, registry: CollectorRegistry) -> None:
        """Remove an engine that has ended; its number becomes free."""
        self._engines = {
            number: metrics for number, metrics in self._engines.items() if metrics is not registry
        }

    def describe(self) -> list[Metric]:
        """Return no names, as vLLM is about to register metrics with the same ones."""
        return []

    def collect(self) -> list[Metric]:
        """Return the metrics of all engines, merged by name."""
        families: dict[str, Metric] = {}
        for number, metrics in sorted(self._engines.items()):
            for family in metrics.collect():
                every = Metric(family.name, family.documentation, family.type, family.unit)
                samples = families.setdefault(family.name, every).samples
                label = {"engine_number": str(number)}
                samples += [sample._replace(labels=sample.labels | label) for sample in family.samples]
        return list(families.values())


RUNNING_METRICS = RunningMetrics()
"""Metrics of this process."""


async def is_alive(engine: Any, detector: HangDetector, on_report: Callable[[dict[str, Any]], None]) -> bool:
    """Ask the engine's loop for a sign of life, which it gives between two steps of the model.

    Args:
        engine: an AsyncLLM.
        detector: decides when silence is a hang. A pause of this process counts as one interval at most.
        on_report: called with our scheduler's report, if the engine uses that scheduler.

    Returns:
        False if the engine hangs. True if it answered or has died; `errored` distinguishes these.
    """
    probe = asyncio.ensure_future(_probe(engine))
    try:
        while not probe.done():
            await asyncio.wait([probe], timeout=detector.interval_s)
            if not probe.done() and detector.observe(await asyncio.to_thread(_busy_s, engine)):
                return False
        if (report := probe.result()) is not None:
            on_report(report)
    except Exception:  # the engine died
        return True
    finally:
        probe.cancel()
    return True


async def _probe(engine: Any) -> dict[str, Any] | None:
    if not str(engine.vllm_config.scheduler_config.scheduler_cls).startswith(SCHEDULER_MODULE):
        await engine.is_sleeping()
        return None
    report: dict[str, Any] = await engine.engine_core.call_utility_async("llmcore_report")
    return report


def _busy_s(engine: Any) -> float:
    """Return the busy time so far of the engine's processes and their workers, in seconds."""
    import psutil  # type: ignore[import-untyped]  # noqa: PLC0415 - vLLM brings it; it ships no types

    total_s = 0.0
    for started in engine.engine_core.resources.engine_manager.processes:
        with suppress(psutil.Error):  # the process has just ended
            process = psutil.Process(started.pid)
            for one in (process, *process.children(recursive=True)):
                total_s += busy_time_s(one.pid) or 0.0
    return total_s


def kill_engine(engine: Any) -> None:
    """Kill the processes of an engine that hangs; its `errored` then becomes True."""
    for process in engine.engine_core.resources.engine_manager.processes:
        process.kill()


async def end_engine(engine: Any) -> None:
    """End the processes of an AsyncLLM: vLLM gives them five seconds, then kills them."""
    from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415 - optional, and imported by now

    processes = list(engine.engine_core.resources.engine_manager.processes)
    # With any other error vLLM first aborts requests in the engine, and waits forever for a dead one.
    engine.output_processor.propagate_error(EngineDeadError("the engine was closed"))
    if engine.output_handler is not None:
        engine.output_handler.cancel()  # otherwise it would report the processes' end as a failure
    await asyncio.to_thread(engine.shutdown)
    for process in processes:
        await asyncio.to_thread(process.join)  # a killed process takes a moment, and would remain as a zombie
