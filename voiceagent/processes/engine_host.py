"""A blocking engine in processes of its own, as async iterators.

Each process serves many streams at once. No thread is used here and the event loop is not blocked. A process
that dies, or hangs and is killed, fails its running streams and is started again for the next ones.
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
    """What the processes run, and how its streams are treated.

    name: the engine's name in errors.
    engine: `package.module:Class` of an `engine_process.Engine`; arguments: its keyword arguments. Where
    `threads` is one of them OpenMP is held to it, and to one thread where it is not.
    error: what the engine raises with words meant for its user, and what is raised here, whatever goes wrong.
    facts: names of the engine's attributes that are wanted here.
    windows: beyond them the caller's iterator is not asked for more, and the engine passes the stream over.
    replaceable: says of an unread value that a newer one makes it worthless.
    """

    name: str
    engine: str
    arguments: Mapping[str, Any]
    error: type[Exception]
    facts: tuple[str, ...] = ()
    windows: Windows = Windows(there=1 << 16)  # noqa: RUF009  it is immutable
    replaceable: Callable[[Any], bool] | None = None


class EngineHost:
    """Serves streams from `workers` processes of one engine; each stream goes to the least busy one that
    answers."""

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
        """The engine's attributes that were asked for; empty before the start."""
        return self._children[0].facts or {}

    @property
    def restarts(self) -> int:
        """How often a process died and was started again."""
        return sum(child.restarts for child in self._children)

    @property
    def trouble(self) -> str:
        """What is wrong with its processes; "" where all do what they are for."""
        troubles = [child.trouble for child in self._children if child.trouble]
        if not troubles or len(self._children) == 1:
            return "".join(troubles)
        return f"{len(troubles)} of {len(self._children)} processes: {troubles[0]}"

    @property
    def process_ids(self) -> list[int]:
        """The ids of the processes that run."""
        return [child.process_id for child in self._children if child.process_id is not None]

    async def start(self) -> None:
        """Start the processes and wait until all are ready. Raises the engine's error; none is left then."""
        try:
            await asyncio.gather(*(child.start() for child in self._children))
        except BaseException as failure:
            await self.close()
            if isinstance(failure, RpcError):
                raise self._error(failure) from failure
            raise

    async def close(self) -> None:
        """End the processes, failing what runs in them; a second call does nothing."""
        await asyncio.gather(*(child.end() for child in self._children))

    async def stream(self, items: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """What the engine makes of `items`, as it makes it.

        `items` is asked for more only while there is room in its window, and closed in the end. Closing the
        generator tells the engine and does not wait for it. Raises the engine's error, and whatever `items`
        raises.
        """
        # also one that is not available, where all are: it fails the stream with its reason
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
