"""Shared connections to MCP servers, one for each server, with their lists of tools."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from voiceagent.conversation.mcp import ListedTool, McpError
from voiceagent.mcp.config import TOO_SLOW, McpConfig, McpFailed, Target
from voiceagent.mcp.results import TooMuch

Answer = TypeVar("Answer")
REFRESH_INTERVAL_S = 5.0
"""Shortest interval between refreshes of a server's tools after failed calls or announced changes."""


class McpConnection(Protocol):
    """Interface of a connection; `voiceagent.mcp.connection` implements it."""

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """Return all tools of the server. Raises McpFailed, TooMuch, TimeoutError."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool and return its result. Raises McpFailed."""

    async def read(self, uri: str) -> tuple[str, ...]:
        """Return the texts of a resource. Raises McpFailed."""

    async def close(self) -> None:
        """Close the connection."""


Connect = Callable[[Target, McpConfig, Callable[[], None]], McpConnection]
"""Factory of connections; the callback reports that the server's tools have changed."""


@dataclass(slots=True)
class _Shared:
    """A server's connection and state.

    listed_s, used_s: times of the last list and the last use. refreshed_s: time of the last refresh because
    of a failed call or an announced change. refresh_timer: timer of the next such refresh.
    """

    connection: McpConnection
    tools: tuple[ListedTool, ...] | None = None
    listed_s: float = 0.0
    listing: asyncio.Task[tuple[ListedTool, ...]] | None = None
    used_s: float = 0.0
    refreshed_s: float = -math.inf
    refresh_timer: asyncio.TimerHandle | None = None
    calls: int = 0


class SharedConnections:
    """One connection for each server, opened on first use and closed after `idle_s` without use.

    kept: servers whose connections are never closed for others. clock: monotonic seconds.
    """

    def __init__(
        self, connect: Connect, config: McpConfig, kept: AbstractSet[Target], clock: Callable[[], float]
    ) -> None:
        self._connect = connect
        self._config = config
        self._kept = kept
        self._clock = clock
        self._shared: dict[Target, _Shared] = {}
        self._closing_tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        shared, self._shared = list(self._shared.values()), {}
        for one in shared:
            if one.refresh_timer is not None:
                one.refresh_timer.cancel()
        listing = [one.listing for one in shared if one.listing is not None]
        for task in listing:
            task.cancel()
        await asyncio.gather(*(one.connection.close() for one in shared), *listing, return_exceptions=True)
        await asyncio.gather(*self._closing_tasks)

    def listed(self, target: Target) -> tuple[ListedTool, ...] | None:
        """Return the cached tools of a server; None if it has not listed them."""
        return self._shared[target].tools if target in self._shared else None

    def is_due(self, target: Target) -> bool:
        """Return True if a server's list of tools is missing or too old."""
        shared = self._shared.get(target)
        return shared is None or shared.tools is None or self._is_stale(shared)

    async def tools(self, target: Target) -> tuple[ListedTool, ...]:
        """Return the tools of a server; an old list is refreshed in the background. Raises McpFailed."""
        shared = self._get_or_open(target)
        if shared.tools is None:
            return await self._list(shared)
        if self._is_stale(shared) and shared.listing is None:
            self._start_listing(shared)  # this request gets the old list
        return shared.tools

    async def refresh_tools(self, target: Target) -> tuple[ListedTool, ...]:
        """Refresh and return the tools of a server. Raises McpFailed."""
        return await self._list(self._get_or_open(target))

    async def use(self, target: Target, ask: Callable[[McpConnection], Awaitable[Answer]]) -> Answer:
        """Send a request, marking the connection as in use. Raises McpFailed.

        A failure refreshes the tools in the background, as the called one may be gone or have changed. So
        does a cancelled request, as the server may hang.
        """
        shared = self._get_or_open(target)
        shared.calls += 1
        try:
            return await ask(shared.connection)
        except McpFailed as failed:
            if failed.error.kind != "http_error":
                self._refresh_after_failure(shared)
            raise
        except asyncio.CancelledError:  # the caller gave up
            self._refresh_after_failure(shared)
            raise
        finally:
            shared.calls -= 1
            shared.used_s = self._clock()

    def close_unused(self) -> None:
        """Close connections unused for `idle_s`."""
        now_s = self._clock()
        for target, shared in list(self._shared.items()):
            if now_s - shared.used_s > self._config.idle_s and not shared.calls and target not in self._kept:
                self._close(target)

    async def _list(self, shared: _Shared) -> tuple[ListedTool, ...]:
        listing = shared.listing or self._start_listing(shared)
        try:
            return await asyncio.shield(listing)
        except TimeoutError as error:
            raise McpFailed(TOO_SLOW) from error
        except TooMuch as error:
            raise McpFailed(McpError("protocol_error", str(error))) from error

    def _start_listing(self, shared: _Shared) -> asyncio.Task[tuple[ListedTool, ...]]:
        async def listed() -> tuple[ListedTool, ...]:
            try:
                shared.tools = await shared.connection.list_tools()
                shared.listed_s = self._clock()
                return shared.tools
            finally:
                shared.listing = None

        shared.listing = asyncio.create_task(listed(), name="list MCP tools", context=Context())
        shared.listing.add_done_callback(lambda task: task.cancelled() or task.exception())
        return shared.listing

    def _refresh_after_failure(self, shared: _Shared) -> None:
        now_s = self._clock()
        if shared.listing is None and now_s - max(shared.refreshed_s, shared.listed_s) >= REFRESH_INTERVAL_S:
            shared.refreshed_s = now_s
            self._start_listing(shared)

    def _on_changed(self, target: Target) -> None:
        """Schedule a refresh after the server announced a change; several announcements share one."""
        shared = self._shared.get(target)
        if shared is None or shared.refresh_timer is not None:
            return
        if shared.tools is not None or shared.listing:
            wait_s = max(0.0, shared.refreshed_s + REFRESH_INTERVAL_S - self._clock())
            shared.refresh_timer = asyncio.get_running_loop().call_later(wait_s, self._refresh, shared)

    def _refresh(self, shared: _Shared) -> None:
        shared.refresh_timer = None
        if shared.listing is not None:  # the running request may predate the change
            shared.listing.add_done_callback(lambda _: self._refresh(shared))
            return
        shared.refreshed_s = self._clock()
        self._start_listing(shared)

    def _get_or_open(self, target: Target) -> _Shared:
        """Return the connection to a server. Raises McpFailed if too many are in use."""
        shared = self._shared.get(target)
        if shared is None:
            self._close_least_recent()
            changed = partial(self._on_changed, target)
            shared = self._shared[target] = _Shared(self._connect(target, self._config, changed))
        shared.used_s = self._clock()
        return shared

    def _close_least_recent(self) -> None:
        if len(self._shared) < self._config.max_connections:
            return
        unused = [
            (shared.used_s, target)
            for target, shared in self._shared.items()
            if not shared.calls and shared.listing is None and target not in self._kept
        ]
        if not unused:
            raise McpFailed(McpError("http_error", "too many MCP servers are in use at the moment", 503))
        self._close(min(unused, key=lambda one: one[0])[1])

    def _close(self, target: Target) -> None:
        shared = self._shared.pop(target)
        if shared.refresh_timer is not None:
            shared.refresh_timer.cancel()
        closing = asyncio.create_task(shared.connection.close())
        self._closing_tasks.add(closing)
        closing.add_done_callback(self._closing_tasks.discard)

    def _is_stale(self, shared: _Shared) -> bool:
        return self._clock() - shared.listed_s > self._config.list_ttl_s
