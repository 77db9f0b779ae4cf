"""`serve --reload`: the changes that count, and the server's return after one."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import Process
from pathlib import Path

import httpx
from fixed_config import write_config
from websockets.asyncio.client import connect

from voiceagent.cli.reload import modification_times


def test_files_of_an_agent_count_and_hidden_ones_do_not(tmp_path: Path) -> None:
    for name in ("agent.py", "my.toml", "prompt.md", ".venv/x.py", "__pycache__/agent.py", "call.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert {path.name for path in modification_times(tmp_path)} == {"agent.py", "my.toml", "prompt.md"}


async def reloading(config: Path, number: signal.Signals, disposition: signal.Handlers) -> Process:
    """`serve --reload`, by a shell that treats a signal so."""
    program = Path(sys.executable).with_name("voiceagent")
    return await asyncio.create_subprocess_exec(
        *(program, "serve", "--config", config, "--port", "0", "--reload"),
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, disposition),
    )


async def test_a_server_is_there_again_after_a_change_and_ends_where_a_shell_had_it_ignore_that(
    tmp_path: Path,
) -> None:
    config = write_config(tmp_path, "")
    process = await reloading(config, signal.SIGINT, signal.SIG_IGN)
    assert process.stdout is not None
    try:
        first = await process.stdout.readline()
        changed = config.stat().st_mtime + 10
        os.utime(config, (changed, changed))
        again = await process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        await process.wait()
    ports = [re.search(rb"http://127.0.0.1:(\d+) ", line) for line in (first, again)]
    assert all(ports)


async def test_a_closed_terminal_ends_no_call_of_a_server_that_is_started_again(tmp_path: Path) -> None:
    process = await reloading(write_config(tmp_path, ""), signal.SIGHUP, signal.SIG_DFL)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60), httpx.AsyncClient(trust_env=False) as client:
            ready = re.search(rb"127.0.0.1:\d+", await process.stdout.readline())
            assert ready is not None
            place = ready[0].decode()
            async with connect(f"ws://{place}/v1/realtime?model=any") as call:
                await call.recv()
                process.send_signal(signal.SIGHUP)
                while (await client.get(f"http://{place}/health")).json()["status"] != "draining":  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                process.send_signal(signal.SIGHUP)  # the shell's
                await (await call.ping())
                assert process.returncode is None
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            await process.wait()
