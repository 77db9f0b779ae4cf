"""A blocking engine in child processes, as async iterators.

Each process serves many streams at once. The host uses no threads and does not block the event loop. A
process that dies, or hangs and is killed, fails its open streams and is restarted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import structlog

from voiceagent.processes.child import Child
from voiceagent.processes.engine_process import EngineTask
from voiceagent.processes.messages import RpcError, Windows
from voiceagent.processes.policies.liveness import Supervision
from voiceagent.processes.program import Program

__all__ = ["EngineHost", "HostedEngine"]

log = structlog.get_logger()

_SUPERVISION = Supervision()


@dataclass(frozen=True, slots=True)
class HostedEngine:
    """An engine to run in child processes, and the treatment of its streams.

    name: the engine's name in errors. engine: `package.module:Class` of an `engine_process.Engine`;
    arguments: its keyword arguments. OpenMP is limited to the argument `threads`, 1 if it is missing. error:
    exception class of the engine with messages for users; also raised here for every failure. facts: names of
    the engine's attributes to report to the host. windows: unread bytes after which the caller's iterator is
    paused, and after which the engine skips the stream. replaceable: returns True for an unread value that
    the next one makes obsolete.
    """

    name: str
    engine: str
    arguments: Mapping[str, Any]
    error: type[Exception]
    facts: tuple[str, ...] = ()
    windows: Windows = Windows(there=1 << 16)  # noqa: RUF009  it is immutable
    replaceable: Callable[[Any], bool] | None = None


class EngineHost:
    """Serves streams from `workers` processes of one engine. Each goes to the free one with the fewest."""

    def __init__(
        self, hosted: HostedEngine, workers: int = 1, supervision: Supervision = _SUPERVISION
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}; allowed: 1 or more")
        task = EngineTask(hosted.engine, dict(hosted.arguments), hosted.error, hosted.facts)
        threads = hosted.arguments.get("threads") or 1
        program = Program("voiceagent.processes.engine_process:main", task, threads=threads)
        self._hosted = hosted
        self._children = [Child(program, self._note_lost, supervision) for _ in range(workers)]

    @property
    def facts(self) -> dict[str, Any]:
        """Reported attributes of the engine; empty before the start."""
        return self._children[0].facts or {}

    @property
    def restarts(self) -> int:
        """Number of restarts of its processes."""
        return sum(child.restarts for child in self._children)

    @property
    def problem(self) -> str:
        """Problems of its processes; "" if there are none."""
        problems = [child.problem for child in self._children if child.problem]
        if not problems or len(self._children) == 1:
            return "".join(problems)
        return f"{len(problems)} of {len(self._children)} processes: {problems[0]}"

    @property
    def process_ids(self) -> list[int]:
        """Ids of the running processes."""
        return [child.process_id for child in self._children if child.process_id is not None]

    async def start(self) -> None:
        """Start the processes and wait until all are ready. Raises an engine's error after ending all."""
        try:
            await asyncio.gather(*(child.start() for child in self._children))
        except BaseException as failure:
            await self.close()
            if isinstance(failure, RpcError):
                raise self._error(failure) from failure
            raise

    async def close(self) -> None:
        """End the processes, failing their open streams; further calls do nothing."""
        await asyncio.gather(*(child.end() for child in self._children))

    async def stream(self, items: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """Yield the engine's values for `items`.

        `items` is read only while its window has room, and is closed at the end. Closing the generator
        cancels the stream without waiting for the engine. Raises the engine's error, and exceptions of
        `items`.
        """
        # if no process is available, an unavailable one fails the stream with its reason
        child = min(self._children, key=lambda child: (not child.available, child.open_streams))
        try:
            made = child.connection.stream(
                "engine", None, items, windows=self._hosted.windows, replaceable=self._hosted.replaceable
            )
            async with aclosing(items), aclosing(made):
                async for value in made:
                    yield value
        except RpcError as failure:
            raise self._error(failure) from failure

    def _note_lost(self, reason: str) -> None:
        log.error("engine_process_lost", engine=self._hosted.name, reason=reason)

    def _error(self, failure: RpcError) -> Exception:
        return self._hosted.error(f"{self._hosted.name}: {failure}")
