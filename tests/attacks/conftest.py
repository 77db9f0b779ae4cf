"""One served process for the whole folder; after each attack it is as it was."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from attacked_server import AttackedServer, attacked_server, free_port, second_caller

LOG_BYTES = 60_000
"""Bytes that one attack may add to the log, without the second caller's lines; a module may set its own."""
MEMORY = 1.1
"""Part of the memory before that an attack may leave taken."""
MEMORY_MB = 12
"""That its first use of a transport may take for good: code, tables of codecs."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AttackedServer]:
    async with attacked_server(tmp_path_factory.mktemp("attacked"), free_port()) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def server(running: AttackedServer, request: pytest.FixtureRequest) -> AsyncIterator[AttackedServer]:
    """The server, with a second caller in a call: his answers stay as they were, memory comes back, the log
    stays small and has no traceback.
    """
    gc.collect()
    memory_mb, logged = running.memory_mb(), len(running.logged())
    async with second_caller(running) as caller:
        yield running
    lines = running.logged()[logged:].splitlines(keepends=True)
    new = "".join(line for line in lines if caller.call_id not in line)
    assert "Traceback" not in new, new[-4_000:]
    assert len(new) < getattr(request.module, "LOG_BYTES", LOG_BYTES), new[-2_000:]
    for _ in range(50):
        if running.memory_mb() <= MEMORY * memory_mb + MEMORY_MB:
            break
        await asyncio.sleep(0.1)
    assert running.memory_mb() <= MEMORY * memory_mb + MEMORY_MB
