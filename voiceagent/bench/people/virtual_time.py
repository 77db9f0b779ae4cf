"""An event loop in virtual time: it never waits, but advances its clock.

The results are those of a machine that is never late, reproducible, and as fast as the processor allows.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

_T = TypeVar("_T")


class _Selector(selectors.DefaultSelector):
    """Advances the clock instead of waiting."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready now. Raises RuntimeError if nothing ever would be."""
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise RuntimeError("everything waits, and nothing that could happen is due")
        self.now_s += max(0.0, timeout)
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Runs the work of executors in the loop's thread; by its clock that takes `work_s` seconds."""

    def __init__(self, work_s: float = 0.0) -> None:
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
        settle: Callable[[], None]
        try:
            settle = partial(future.set_result, func(*args))
        except Exception as error:  # any exception of the work
            settle = partial(future.set_exception, error)
        self.call_later(self._work_s, _unless_cancelled, future, settle)
        return future


def _unless_cancelled(future: asyncio.Future[Any], settle: Callable[[], None]) -> None:
    if not future.cancelled():
        settle()


def run_virtually(main: Coroutine[Any, Any, _T], work_s: float = 0.0) -> _T:
    """Run like `asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(work_s)) as runner:
        return runner.run(main)
