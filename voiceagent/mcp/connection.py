"""One connection to an MCP server by the `mcp` SDK, opened on demand and reopened after a loss."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import Context
from typing import Any, TypeVar

import structlog
from httpx2 import StreamError
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import IncomingMessage, MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import (
    CallToolResult,
    ReadResourceResult,
    TextResourceContents,
    Tool,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout
from voiceagent.conversation.mcp import ListedTool, McpError
from voiceagent.mcp.config import TOO_SLOW, McpConfig, McpFailed, Target
from voiceagent.mcp.http import SESSION_LOST, UNREACHABLE, http_client
from voiceagent.mcp.results import TooMuch, as_text, check_listed, cut
from voiceagent.telemetry.log import Personal

log = structlog.get_logger()
# The SDK logs invalid messages with a traceback that contains their text. The caller gets the error anyway,
# and `Connection` logs the lines of a program.
for _sdk_logger in ("mcp.client.stdio", "mcp.client.streamable_http"):
    logging.getLogger(_sdk_logger).addFilter(
        lambda record: not (record.exc_info and isinstance(record.exc_info[1], ValueError | StreamError))
    )

Answer = TypeVar("Answer")
MAX_MESSAGE = 500
"""Characters of a server's error message that are kept."""
RELISTEN_S = (5.0, 300.0)
"""First and longest wait before the stream of changes is reopened, in seconds."""
MAX_PAGES = 100
"""Pages of a list of tools; a server could announce more forever."""
_CONNECTION_LOST = "Connection closed"
"""The SDK's error message for a lost connection."""


class Connection:
    """Connection shared by many calls. Raises McpFailed, with a text for the model.

    changed: called when the server announces that its tools have changed.
    """

    def __init__(self, target: Target, config: McpConfig, changed: Callable[[], None] = lambda: None) -> None:
        self._target = target
        self._config = config
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # includes programs being ended
        self._ready: asyncio.Future[Client] | None = None
        self._closing = asyncio.Event()
        self._pending: set[asyncio.Future[None]] = set()

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """Return all tools of the server. Raises TooMuch, TimeoutError.

        A program that does not answer, although no earlier request keeps it busy, hangs: it is ended, and
        restarted by the next request.
        """
        listing = asyncio.create_task(self._send_with_retry(self._list), name="MCP list")
        try:
            if self._target.command:
                await _wait_for_list_or_answers(listing, self._pending)
            async with PauseTolerantTimeout(self._config.connect_s):
                return await listing
        except TimeoutError:
            if self._target.command:
                log.warning("mcp_program_hung", command=self._target.command, args=self._target.args)
                self._closing.set()
            raise
        except McpFailed:
            if self._target.url and not self._pending:
                self._closing.set()  # some servers answer 400 for an unknown session
            raise
        finally:
            listing.cancel()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool and return its result as text, without a time limit."""

        async def call(client: Client) -> CallToolResult:
            return await client.call_tool(name, dict(arguments))

        with self._pending_request():
            result = await self._send_with_retry(call)
        content = [block.model_dump(mode="json") for block in result.content]
        text = as_text(content, result.structured_content, self._config.max_result_characters)
        if result.is_error:
            raise McpFailed(McpError("tool_execution_error", text))
        return text

    async def read(self, uri: str) -> tuple[str, ...]:
        """Return the texts of a resource, each cut to the limit of tool results."""

        async def read(client: Client) -> ReadResourceResult:
            return await client.read_resource(uri)

        with self._pending_request():
            result = await self._send_with_retry(read)
        texts = [part.text for part in result.contents if isinstance(part, TextResourceContents)]
        return tuple(cut(text, self._config.max_result_characters) for text in texts)

    async def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._task = None
        self._closing.set()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @contextmanager
    def _pending_request(self) -> Iterator[None]:
        """Mark a request as pending while the block runs.

        A cancelled request may keep a program, which does one thing at a time, busy. It stays pending for as
        long again, at least `McpConfig.timeout_s`.
        """
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[None] = loop.create_future()
        self._pending.add(answered)

        began_s, pending_s = loop.time(), 0.0
        try:
            yield
        except asyncio.CancelledError:
            if self._target.command:
                pending_s = max(loop.time() - began_s, self._config.timeout_s)
            raise
        finally:
            loop.call_later(pending_s, self._on_answered, answered)

    def _on_answered(self, request: asyncio.Future[None]) -> None:
        self._pending.discard(request)
        request.set_result(None)

    async def _send_with_retry(self, ask: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """Send a request; repeat it once if the server restarted and lost the session."""
        for attempt in (1, 2):
            client = await self._connected()
            try:
                return await ask(client)
            except MCPError as error:
                if error.message in (_CONNECTION_LOST, SESSION_LOST):
                    self._closing.set()
                if error.message == SESSION_LOST and attempt == 1:
                    continue
                raise _as_failure(error) from error
            except (TooMuch, asyncio.CancelledError):
                raise
            except Exception as error:  # the SDK validates messages and raises various exceptions
                message = f"it sent an invalid answer ({type(error).__name__})"
                raise McpFailed(McpError("protocol_error", message)) from error
        raise AssertionError("the second attempt returns or raises")

    async def _list(self, client: Client) -> tuple[ListedTool, ...]:
        listed: list[ListedTool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            listed += [_as_listed_tool(tool) for tool in page.tools]
            check_listed(listed, self._config.max_response_bytes)
            cursor = page.next_cursor
            if cursor is None:
                return tuple(listed)
        raise TooMuch(f"its list of tools has more than {MAX_PAGES} pages")

    async def _connected(self) -> Client:
        if self._task is None or self._task.done() or self._closing.is_set():
            self._closing = asyncio.Event()
            self._ready = asyncio.get_running_loop().create_future()
            self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
            # an empty context: log lines of the connection must not name the call that opened it
            running = self._run(self._ready, self._closing)
            self._task = asyncio.create_task(running, name="MCP connection", context=Context())
            self._tasks.add(self._task)
            self._task.add_done_callback(self._tasks.discard)
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    async def _run(self, ready: asyncio.Future[Client], closing: asyncio.Event) -> None:
        """Own the connection in one task, as the SDK's contexts must close in the task that opened them."""
        try:
            async with AsyncExitStack() as stack:
                async with PauseTolerantTimeout(self._config.connect_s):
                    opened = _open_client(self._target, self._config, self._on_message)
                    client = await stack.enter_async_context(opened)
                ready.set_result(client)
                listening = asyncio.create_task(self._listen_for_changes(client), name="MCP changes")
                try:
                    await closing.wait()
                finally:
                    listening.cancel()
                    await asyncio.wait([listening])
        except Exception as error:
            if not ready.done():
                failed = _as_failure(error)
                failed.__cause__ = error
                ready.set_exception(failed)
        finally:
            closing.set()
            ready.cancel()

    async def _on_message(self, message: IncomingMessage) -> None:
        """Handle a server's unsolicited message (up to protocol 2025-11-25), or a program's invalid line."""
        if isinstance(message, ToolListChangedNotification):
            self._changed()
        elif isinstance(message, ValidationError):
            written = Personal(str(message.errors()[0]["input"])[:MAX_MESSAGE])
            command, args = self._target.command, self._target.args
            log.warning("mcp_invalid_line", command=command, args=args, written=written)

    async def _listen_for_changes(self, client: Client) -> None:
        """Listen for changes of the tools by subscription (protocol 2026-07-28 on), if the server
        supports it.
        """
        wait_s = RELISTEN_S[0]
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._changed()
                        wait_s = RELISTEN_S[0]
            except ListenNotSupportedError:
                return
            except MCPError as error:
                if not _is_http_error(error):
                    return
            except (SubscriptionLost, TimeoutError):
                pass
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, RELISTEN_S[1])
            self._changed()  # changes may have been missed meanwhile


@asynccontextmanager
async def _open_client(
    target: Target, config: McpConfig, on_message: MessageHandlerFnT
) -> AsyncIterator[Client]:
    """Open a client of the server.

    The SDK's cache is off, as tools are cached here. on_message: handler of unsolicited messages.
    """
    if not target.url:
        program = StdioServerParameters(command=target.command, args=[*target.args], env=dict(target.env))
        async with Client(program, cache=None, message_handler=on_message) as client:
            yield client
        return
    headers = dict(target.headers)
    async with (
        http_client(target.reach, headers, config.connect_s, config.max_response_bytes) as http,
        Client(
            streamable_http_client(
                target.url, http_client=http, max_sse_event_size=config.max_response_bytes
            ),
            cache=None,
            message_handler=on_message,
        ) as client,
    ):
        yield client


def _as_listed_tool(tool: Tool) -> ListedTool:
    read_only = bool(tool.annotations and tool.annotations.read_only_hint)
    return ListedTool(tool.name, tool.description or "", dict(tool.input_schema), read_only)


def _as_failure(error: BaseException) -> McpFailed:
    """Convert an exception to the Realtime API's error kinds, with a text for the model."""
    if isinstance(error, BaseExceptionGroup):
        return _as_failure(error.exceptions[0])
    if isinstance(error, McpFailed):
        return error
    if isinstance(error, TimeoutError):
        return McpFailed(TOO_SLOW)
    if not isinstance(error, MCPError):
        return McpFailed(McpError("http_error", f"it cannot be reached ({type(error).__name__})", 502))
    message = cut(error.message, MAX_MESSAGE)
    if error.message in (_CONNECTION_LOST, SESSION_LOST):
        message = "the connection to it was lost; the action may have been done"
    if error.code == UNREACHABLE:
        return McpFailed(McpError("http_error", message, 502))
    return McpFailed(
        McpError("http_error" if _is_http_error(error) else "protocol_error", message, error.code)
    )


def _is_http_error(error: MCPError) -> bool:
    """Return True if the server was unreachable or answered with an HTTP status."""
    return error.code == UNREACHABLE or 100 <= error.code < 600


async def _wait_for_list_or_answers(
    listing: asyncio.Task[Any], pending: AbstractSet[asyncio.Future[None]]
) -> None:
    """Wait for the list, or until all requests sent before it are answered."""
    answered = asyncio.gather(*pending)
    await asyncio.wait([listing, answered], return_when=asyncio.FIRST_COMPLETED)
