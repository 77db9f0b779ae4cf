"""A served process whose parts a test can stop, slow down and kill."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from fixed_config import FIXED, write_config

STOP_S = 30.0
BLOCKING = {"FixedRecognizer": "blocking_engines:Words", "FixedSynthesizer": "blocking_engines:Tone"}
"""Engines in processes of their own, in the place of those of fixed cost."""
_START = """
import sys
from voiceagent.cli.main import main
from voiceagent.validation.references import import_object

for name, value in {constants}.items():
    owner, _, key = name.rpartition(".")
    setattr(import_object(owner), key, value)
sys.exit(main())
"""


class FaultyServer:
    """A server with faults: its address, its processes, and its log."""

    def __init__(self, address: str, process: psutil.Process, folder: Path) -> None:
        self.address = address
        self.process = process
        self._folder = folder

    @property
    def log(self) -> str:
        """All that it has written so far."""
        return (self._folder / "log").read_text()

    def engine(self, name: str) -> int:
        """The id of the process that a blocking engine has now."""
        return int((self._folder / f"{name}.pid").read_text())

    def workers(self) -> list[int]:
        """The ids of the call workers."""
        found = []
        for child in self.process.children():
            with suppress(psutil.NoSuchProcess):  # it has died meanwhile
                if any("call_worker" in argument for argument in child.cmdline()):
                    found.append(child.pid)
        return found

    async def slow_down(self, process: int, seconds: float) -> None:
        """Let a process run for a fifth of the time only."""
        until_s = asyncio.get_running_loop().time() + seconds
        with suppress(ProcessLookupError):
            while asyncio.get_running_loop().time() < until_s:
                os.kill(process, signal.SIGSTOP)
                await asyncio.sleep(0.16)
                os.kill(process, signal.SIGCONT)
                await asyncio.sleep(0.04)


@contextmanager
def faulty_server(
    folder: Path,
    lines: str = "",
    *options: str,
    descriptors: int | None = None,
    log: Path | None = None,
    constants: Mapping[str, float] | None = None,
    change: Callable[[str], str] = lambda text: text,
    **engines: str,
) -> Iterator[FaultyServer]:
    """A server of the configuration that `write_config` makes, with `change` made to it; it speaks fast.

    descriptors: how many file descriptors each process may have. log: where it is written.
    constants: other values for fixed settings, by "package.module:Class.name".
    """
    config = write_config(folder, lines, **engines)
    config.write_text(change(config.read_text().replace("character_s = 0.06", "character_s = 0.015")))
    shutil.copy(FIXED / "blocking_engines.py", folder)

    start = _START.format(constants=dict(constants or {}))
    limit = [] if descriptors is None else ["prlimit", f"--nofile={descriptors}"]
    with (log or folder / "log").open("w") as written:
        process = subprocess.Popen(
            [*limit, sys.executable, "-c", start, "serve", "--config", config, *options],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        )
    everything = psutil.Process(process.pid)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://(\S+)", line)
        assert found, f"the server did not start: {line!r}"
        yield FaultyServer(found[1], everything, folder)
        process.terminate()
        assert process.wait(STOP_S) == 0
    finally:
        if process.poll() is None:
            for part in [*everything.children(recursive=True), everything]:
                with suppress(psutil.NoSuchProcess):
                    part.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


@asynccontextmanager
async def faulty_server_beside(*arguments: Any, **named: Any) -> AsyncIterator[FaultyServer]:
    """As `faulty_server`, for when the event loop is to go on while it starts and stops."""
    server = faulty_server(*arguments, **named)
    started = await asyncio.to_thread(server.__enter__)
    try:
        yield started
    finally:
        await asyncio.to_thread(server.__exit__, *sys.exc_info())
