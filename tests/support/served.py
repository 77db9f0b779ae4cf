"""A server as users start it: the `voiceagent serve` command in a process of its own."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from voiceagent.bench.server_process import stop

READY_S = 180.0
STOP_S = 60.0
LEFT_S = 10.0
"""How long callers who have left may count as there: those over WebRTC, who may say nothing, the longest."""
TESTS = Path(__file__).parents[1]
VOICEAGENT = Path(sys.executable).with_name("voiceagent")


@asynccontextmanager
async def served(
    config: Path,
    port: int = 0,
    ready_s: float = READY_S,
    options: Sequence[str] = (),
    program: Path = VOICEAGENT,
    cwd: Path | None = None,
) -> AsyncIterator[str]:
    """The address, as "127.0.0.1:8080", of a server that takes calls; SIGTERM stops it at the end.

    port: 0 takes a free one. ready_s: how long it may take to start. options: more of the command line.
    program: of another installation. cwd: where it is started, if not here.
    """
    process = await asyncio.create_subprocess_exec(
        program,
        "serve",
        "--config",
        config,
        "--port",
        str(port),
        *options,
        stdout=asyncio.subprocess.PIPE,
        cwd=cwd,
    )
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), ready_s)).decode()
        found = re.search(r"http://(\S+)", line)
        assert found, f"the server did not start: {line!r}"
        yield found[1]
    finally:
        assert await stop(process, STOP_S), f"the server did not stop within {STOP_S:.0f} s of SIGTERM"


@asynccontextmanager
async def serving_tools(folder: Path, llm: str = "tool_engine:ToolLlm", more: str = "") -> AsyncIterator[str]:
    """Yield the address of a server whose LLM calls the first tool and then repeats its result. more: tables
    of its configuration.
    """
    own = ("bench/fixed_engines.py", "e2e/tool_engine.py", "e2e/live_engine.py", "support/review_engines.py")
    for engines in own:
        shutil.copy(TESTS / engines, folder)
    text = (TESTS / "bench/fixed.toml").read_text()
    before, after = text.split("[llm]")
    config = folder / "served.toml"
    config.write_text(
        f'{before}[llm]\nengine = "{llm}"\n\n[synthesizer]{after.split("[synthesizer]")[1]}\n{more}'
    )
    async with served(config) as address:
        yield address


async def calls_at(address: str) -> int:
    """Return the number of the server's calls."""
    async with httpx.AsyncClient(trust_env=False) as client:
        return int((await client.get(f"http://{address}/health")).json()["calls"])


@asynccontextmanager
async def lent(address: str) -> AsyncIterator[str]:
    """A server that tests share, for one of them, which leaves no call behind."""
    yield address
    async with asyncio.timeout(LEFT_S):
        while await calls_at(address):  # noqa: ASYNC110 - a client can only ask again
            await asyncio.sleep(0.05)
