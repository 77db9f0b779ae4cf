"""The core of calls is another server of the Realtime API, whose process stops in the middle of a reply."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fault_calls import PATIENCE_S, FaultCaller, calling, counted
from faulty_server import FaultyServer, faulty_server
from websockets.exceptions import ConnectionClosed

APOLOGY = "Could you say that again?"
RETRIES = "voiceagent.upstream.config:UpstreamConfig.retries"
UPSTREAM = """
[upstream]
url = "ws://{address}/v1"
voice = "default"
"""


@contextmanager
def bridged(folder: Path, retries: int) -> Iterator[tuple[FaultyServer, FaultyServer]]:
    """A server, and the one that is the core of its calls."""
    for name in ("core", "front"):
        (folder / name).mkdir()
    with faulty_server(folder / "core") as core:
        table = UPSTREAM.format(address=core.address)
        try:
            with faulty_server(
                folder / "front", constants={RETRIES: retries}, change=lambda text: text + table
            ) as front:
                yield front, core
        finally:
            os.kill(core.process.pid, signal.SIGCONT)


async def stop_in_a_reply(caller: FaultCaller, core: FaultyServer) -> None:
    assert await caller.turn() == "completed"
    await caller.ask()
    await caller.until("response.output_audio.delta")
    os.kill(core.process.pid, signal.SIGSTOP)


@pytest.mark.timeout(300)
async def test_one_that_stays_stopped_is_an_apology_and_the_end(tmp_path: Path) -> None:
    with bridged(tmp_path, retries=1) as (front, core):
        async with calling(front.address) as caller:
            await stop_in_a_reply(caller, core)
            await caller.until("response.done")
            caller.said, caller.heard_bytes = "", 0
            with pytest.raises(ConnectionClosed):
                await caller.until("no event is called so")
            assert caller.said.strip().endswith(APOLOGY)
            assert caller.heard_bytes > 0
            assert caller.seen == {"completed": 2, "failed": 1}
        outcomes = await counted(front.address, "voiceagent_upstream_connections_total")
        assert outcomes == {"connected": 1, "lost": 1, "unreachable": 1}
        assert "Traceback" not in front.log


@pytest.mark.timeout(300)
async def test_one_that_goes_on_later_answers_in_the_same_call(tmp_path: Path) -> None:
    with bridged(tmp_path, retries=9) as (front, core):
        async with calling(front.address) as caller:
            await stop_in_a_reply(caller, core)
            await caller.until("response.done")
            os.kill(core.process.pid, signal.SIGCONT)
            async with asyncio.timeout(PATIENCE_S):
                while await caller.turn() != "completed":
                    pass
        outcomes = await counted(front.address, "voiceagent_upstream_connections_total")
        assert (outcomes["connected"], outcomes["lost"]) == (2, 1)
        assert "Traceback" not in front.log
