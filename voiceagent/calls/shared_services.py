"""A server's services for forked calls, on an event loop that runs only during requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any, TypeVar

from voiceagent.session.services import Services

T = TypeVar("T")


class SharedServices:
    """A server's services, which all forked calls share: they take seconds to start.

    start: starts them, at the first request.
    """

    def __init__(self, start: Callable[[], AbstractAsyncContextManager[Services]]) -> None:
        self._start = start
        self._runner = asyncio.Runner()
        self._closing = AsyncExitStack()
        self._services: Services | None = None

    def __enter__(self) -> SharedServices:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._services is not None:
                self._runner.run(self._closing.aclose())
        finally:
            self._runner.close()

    def run(self, work: Callable[[Services], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a coroutine that uses the services. Raises the errors of their start."""

        async def run() -> T:
            if self._services is None:
                self._services = await self._closing.enter_async_context(self._start())
            return await work(self._services)

        return self._runner.run(run())
