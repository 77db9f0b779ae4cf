"""Waits of a test that is the client of a server in the same process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed


async def soon(what: Awaitable[Any]) -> Any:
    """Wait for something that is immediate on a healthy server; the limit is for a broken one."""
    return await asyncio.wait_for(what, 20)


async def received(websocket: ClientConnection) -> dict[str, Any]:
    """Return the next event."""
    event: dict[str, Any] = json.loads(await soon(websocket.recv()))
    return event


async def close_code(websocket: ClientConnection) -> tuple[int, str]:
    """Read to the end. Return code and reason."""
    with pytest.raises(ConnectionClosed) as caught:
        while True:
            await soon(websocket.recv())
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code, caught.value.rcvd.reason
