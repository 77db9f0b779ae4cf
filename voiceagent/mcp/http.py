"""HTTP transport to MCP servers: allowed addresses only, bounded responses, failures as JSON-RPC errors.

An exception of the transport would end the connection of every call that shares it; a JSON-RPC error fails
only one request.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping

import httpx2
from pydantic_core import from_json, to_json

from voiceagent.mcp.reach import NotAllowed, Reach, check_addresses

SESSION = "mcp-session-id"
UNREACHABLE = -32_090
"""Code of our own errors, in the range that JSON-RPC leaves to implementations."""
SESSION_LOST = "Session terminated"
"""The SDK's message for a session that the server does not know any more, unless it gives a reason."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Transport to one server.

    reach: allowed addresses; None for a configured server. notification_s: time limit of a message without a
    response, during which the SDK sends no other.
    """

    def __init__(self, reach: Reach | None, max_bytes: int, notification_s: float) -> None:
        self._reach = reach
        self._max_bytes = max_bytes
        self._notification_s = notification_s
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. Redirects pass through here too, as requests of their own."""
        try:
            async with asyncio.timeout(None if await _expects_response(request) else self._notification_s):
                response = await self._inner.handle_async_request(await self._with_checked_address(request))
        except NotAllowed as refused:
            return _error_response(UNREACHABLE, str(refused))
        except (httpx2.TransportError, OSError) as error:
            return _error_response(UNREACHABLE, f"it cannot be reached ({type(error).__name__})")
        if response.status_code in (401, 403, 429) or response.status_code >= 500:
            await response.aclose()
            return _error_response(response.status_code, f"it answered with HTTP {response.status_code}")
        if response.status_code == 404 and SESSION in request.headers:
            await response.aclose()
            return _error_response(404, SESSION_LOST)
        if request.method == "GET":  # a stream of events, unbounded
            return response
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, self._max_bytes)
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()

    async def _with_checked_address(self, request: httpx2.Request) -> httpx2.Request:
        """Return the request to the checked address itself: a second DNS lookup may return another."""
        url = request.url
        if self._reach is None:
            return request
        self._reach.check_url(str(url))
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(url.host, url.port or 0, type=socket.SOCK_STREAM)
        address = check_addresses(self._reach, url.host, [str(entry[4][0]) for entry in found])
        return httpx2.Request(
            request.method,
            url.copy_with(host=address),
            headers=request.headers,  # `Host` stays the name
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": url.host},
        )


def http_client(
    reach: Reach | None, headers: Mapping[str, str], connect_s: float, max_bytes: int
) -> httpx2.AsyncClient:
    """Return a client for one server. Responses have no time limit: callers give up by themselves."""
    timeout = httpx2.Timeout(None, connect=connect_s)
    transport = GuardedTransport(reach, max_bytes, connect_s)
    return httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=transport, trust_env=False)


async def _expects_response(request: httpx2.Request) -> bool:
    """Return True if the request expects a response: not a notification, nor a response to the server."""
    return request.method != "POST" or {"id", "method"} <= from_json(await request.aread()).keys()


class _BoundedStream(httpx2.AsyncByteStream):
    """A response body limited to `max_bytes`."""

    def __init__(self, inner: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._inner = inner
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > self._max_bytes:
                raise httpx2.StreamError(f"its answer is longer than {self._max_bytes} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _error_response(code: int, message: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=to_json(body))
