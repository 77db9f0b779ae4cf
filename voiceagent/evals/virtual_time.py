"""An event loop in virtual time: it never waits, but advances its clock.

The results are those of a machine that is never late, reproducible, and as fast as the processor allows.
Work outside the loop is waited for: with the clock standing still within `frozen`, otherwise, as for a plain
tool in a thread or for a socket, in real time.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from voiceagent.agents.tool_threads import threads_run

_T = TypeVar("_T")
FROZEN_S = 600.0
"""Maximum real time of work with the clock standing still. Engines time out earlier, and fail one call; this
ends everything. A small model on a busy machine took more than 120 s for its first prompt.
"""


class _Selector(selectors.DefaultSelector):
    """Selector of an event loop in virtual time: advances the clock where it would wait."""

    now_s = 0.0
    frozen = 0
    """Works in progress during which the clock stands still."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready now. Raises RuntimeError if nothing ever would be."""
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if self.frozen:
            return self._wait_frozen()
        if threads_run() or len(self.get_map()) > 1:  # the loop itself has one pipe open
            began_s = time.monotonic()
            ready = super().select(timeout)
            self.now_s += time.monotonic() - began_s
            return ready
        if timeout is None:
            raise RuntimeError("everything waits, and nothing that could happen is due")
        self.now_s += max(0.0, timeout)
        return ready

    def _wait_frozen(self) -> list[tuple[selectors.SelectorKey, int]]:
        if ready := super().select(FROZEN_S):
            return ready
        raise RuntimeError(f"an engine has not answered for {FROZEN_S:.0f} s of real time")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Runs the work of executors in the loop's thread; by its clock that takes `work_s` seconds, or, if that
    is None, as long as it takes.
    """

    def __init__(self, work_s: float | None = 0.0) -> None:
        self._virtual = _Selector()
        self._work_s = work_s
        super().__init__(self._virtual)

    def time(self) -> float:
        """Return the seconds since the loop was created."""
        return self._virtual.now_s

    def run_in_executor(  # type: ignore[override]  # the library's type is that of a stub with ParamSpecs
        self, executor: Executor | None, func: Callable[..., _T], *args: Any
    ) -> asyncio.Future[_T]:
        """Run the work and deliver its result or exception `work_s` later."""
        future: asyncio.Future[_T] = self.create_future()
        began_s = time.monotonic()
        settle: Callable[[], None]
        try:
            settle = partial(future.set_result, func(*args))
        except Exception as error:  # any exception of the work
            settle = partial(future.set_exception, error)
        work_s = time.monotonic() - began_s if self._work_s is None else self._work_s
        self.call_later(work_s, _unless_cancelled, future, settle)
        return future

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let the clock stand still while the block waits."""
        self._virtual.frozen += 1
        try:
            yield
        finally:
            self._virtual.frozen -= 1


def _unless_cancelled(future: asyncio.Future[Any], settle: Callable[[], None]) -> None:
    if not future.cancelled():
        settle()


@contextmanager
def frozen() -> Iterator[None]:
    """Let the clock of the running loop stand still while the block waits; nothing on another loop."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualTimeLoop):
        with loop.frozen():
            yield
    else:
        yield


def run_virtually(main: Coroutine[Any, Any, _T], work_s: float | None = 0.0) -> _T:
    """Run like `asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(work_s)) as runner:
        return runner.run(main)
