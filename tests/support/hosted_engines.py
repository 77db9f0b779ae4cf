"""Hosts of the engines in `worker_engines`, with small windows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from worker_engines import EngineError

from voiceagent.processes.engine_host import EngineHost, HostedEngine
from voiceagent.processes.messages import Windows

WINDOW = 4_096


def hosted_engine(engine: str, **arguments: Any) -> HostedEngine:
    """An engine by its name. Of its values those that begin with "draft" are replaceable."""
    return HostedEngine(
        name="tested",
        engine=f"worker_engines:{engine}",
        arguments=arguments,
        error=EngineError,
        facts=("rate_hz",) if engine == "Echo" else (),
        windows=Windows(WINDOW, WINDOW),
        replaceable=lambda value: isinstance(value, str) and value.startswith("draft"),
    )


async def each(*items: Any) -> AsyncGenerator[Any, None]:
    """The items, one by one."""
    for item in items:
        yield item


async def all_of(host: EngineHost, *items: Any) -> list[Any]:
    """Return all items of the engine's stream."""
    async with aclosing(host.stream(each(*items))) as stream:
        return [value async for value in stream]
