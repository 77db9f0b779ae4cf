"""The parts of a vLLM engine by which this process ends it, and gives it our scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry

ENGINE_PROCESS = "EngineCore"
"""What the names of an engine's processes begin with."""
OURS = "llmcore.engines.vllm_internals.scheduler"
"""The module of our schedulers."""


def choose_scheduler(config: Any) -> None:
    """Put our scheduler in the place of vLLM's own of the same kind, where requests have priorities."""
    # a scheduler that the settings name is the operator's choice
    if config.policy == "priority" and config.scheduler_cls is None:
        kind = "AsyncTurnScheduler" if config.async_scheduling else "TurnScheduler"
        config.scheduler_cls = f"{OURS}.{kind}"


def second_runner(config: Any) -> bool:
    """Whether vLLM will compute with its second model runner, into which `speculation` does not reach."""
    return bool(getattr(config, "use_v2_model_runner", False))


def own_metrics() -> CollectorRegistry:
    """The metrics of the engine that was started last: of no other, and read here as long as it counts.

    vLLM takes all engines' out of prometheus_client's registry when it starts another in this process.
    """
    own = CollectorRegistry()
    for collector in list(REGISTRY._collector_to_names):
        if getattr(collector, "_name", "").startswith("vllm:"):
            own.register(collector)
    return own


async def answers(engine: Any, within_s: float, take: Callable[[dict[str, Any]], None]) -> bool:
    """Whether the engine's loop turns: it answers between two steps of the model.

    take: told what our scheduler reports, where the engine has that.
    """
    ours = str(engine.vllm_config.scheduler_config.scheduler_cls).startswith(OURS)
    try:
        async with asyncio.timeout(within_s):
            if ours:
                take(await engine.engine_core.call_utility_async("llmcore_report"))
            else:
                await engine.is_sleeping()
    except TimeoutError:
        return False
    except Exception:  # it has died, which `errored` tells
        return True
    return True


def kill_engine(engine: Any) -> None:
    """End the processes of an engine that hangs; `errored` tells soon."""
    for process in engine.engine_core.resources.engine_manager.processes:
        process.kill()


async def end_engine(engine: Any) -> None:
    """End the processes of an AsyncLLM: vLLM gives them five seconds, then kills them."""
    from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415 - optional, and imported by now

    processes = list(engine.engine_core.resources.engine_manager.processes)
    # Any other error has a request aborted in the engine first, which waits for ever for one that has died.
    engine.output_processor.propagate_error(EngineDeadError("the engine was closed"))
    if engine.output_handler is not None:
        engine.output_handler.cancel()  # or it would report the death of the processes as a failure
    await asyncio.to_thread(engine.shutdown)
    for process in processes:
        await asyncio.to_thread(process.join)  # a killed one takes a moment, and would stay as a zombie
