"""A clock for tests: when all tasks wait, it jumps to the next timer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from voiceagent.agents.tool_threads import threads_run


class VirtualClock:
    """The time of the running event loop, as a context manager.

    `asyncio.sleep(30)` and timeouts pass at once, always in the same order. Work outside the event loop
    takes real time: while a plain tool or `asyncio.to_thread` runs in a thread, or a socket or pipe is
    open, the clock runs in real time. `time.time()` and `time.monotonic()` stay real. A timeout around the
    block counts virtual seconds.

    Raises:
        RuntimeError: The event loop is not asyncio's own.
    """

    def __init__(self) -> None:
        self._now_s = 0.0
        self._in_executor = 0
        self._restore: Callable[[], None] = lambda: None

    def time(self) -> float:
        """Return the seconds of the event loop's clock."""
        return self._now_s

    def __enter__(self) -> VirtualClock:
        running = asyncio.get_running_loop()
        if not isinstance(running, asyncio.SelectorEventLoop):
            kind = type(running).__name__
            raise RuntimeError(f"clock='virtual' with a {kind}; allowed: asyncio's own event loop")
        # asyncio has no API for a clock: the loop uses these three for the next event and its time
        loop: Any = running
        selector, run = loop._selector, loop.run_in_executor
        self._now_s = loop.time()
        loop.time = self.time
        loop._selector = _Selector(selector, self)

        def run_in_executor(executor: Any, function: Any, *arguments: Any) -> Any:
            self._in_executor += 1
            future = run(executor, function, *arguments)
            future.add_done_callback(lambda _: self._leave_executor())
            return future

        loop.run_in_executor = run_in_executor

        def restore() -> None:
            loop._selector, loop.run_in_executor = selector, run
            ahead_s = self._now_s - time.monotonic()
            loop.time = lambda: time.monotonic() + ahead_s  # remaining timers keep their meaning

        self._restore = restore
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def pass_by(self, seconds: float) -> None:
        """Advance the clock."""
        self._now_s += seconds

    @property
    def must_wait(self) -> bool:
        """True while the event loop waits for a thread."""
        return self._in_executor > 0 or threads_run()

    def _leave_executor(self) -> None:
        self._in_executor -= 1


class _Selector:
    """Selector of the event loop that waits only for events from outside the loop."""

    def __init__(self, real: Any, clock: VirtualClock) -> None:
        self._real = real
        self._clock = clock

    def select(self, timeout: float | None = None) -> Any:
        """Return the ready events. If waiting brings none, advance the clock by `timeout` at once."""
        # the loop itself has one pipe open, through which threads wake it
        if timeout is None or self._clock.must_wait or len(self._real.get_map()) > 1:
            began_s = time.monotonic()
            ready = self._real.select(timeout)
            self._clock.pass_by(time.monotonic() - began_s)
            return ready
        if not (ready := self._real.select(0)) and timeout > 0:
            self._clock.pass_by(timeout)
        return ready

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
