"""A server in a process of its own, and what it costs."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from voiceagent.failures import CommandFailed

try:
    import psutil  # type: ignore[import-untyped]  # ships no types
except ImportError as error:
    raise CommandFailed("bench calls needs psutil: pip install 'voiceagent[bench]'") from error

READY_S = 120.0
STOP_S = 20.0
_SERVE = "import sys; from voiceagent.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server. Its workers and engine hosts count in."""

    host: str
    port: int
    process: psutil.Process

    def cpu_s(self) -> float:
        """CPU seconds it has used so far."""
        return sum(sum(process.cpu_times()[:2]) for process in self._all())

    def memory_bytes(self) -> int:
        """Memory that is resident now."""
        return sum(int(process.memory_info().rss) for process in self._all())

    def _all(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


@asynccontextmanager
async def served(config: Path, calls: int, core: int | None, workers: int) -> AsyncIterator[ServerProcess]:
    """`voiceagent serve` for so many calls on a free port of the loopback; if a core is named, alone on it.

    Raises CommandFailed where it does not start.
    """
    arguments = ["serve", "--config", str(config), "--host", "127.0.0.1", "--port", "0"]
    arguments += ["--workers", str(workers)]
    arguments += ["--max-calls", str(2 * calls)]  # one that hangs up still counts when the next one calls
    cores = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})  # which the process inherits
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _SERVE, *arguments, stdout=asyncio.subprocess.PIPE
    )
    if core is not None:
        os.sched_setaffinity(0, cores - {core} or cores)
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), READY_S)).decode()
        address = re.search(r"http://([\d.]+):(\d+)", line)
        if address is None:
            raise CommandFailed(f"the server did not start: {line or 'see its log above'}")
        yield ServerProcess(address[1], int(address[2]), psutil.Process(process.pid))
    finally:
        if core is not None:
            os.sched_setaffinity(0, cores)
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_S)
        except TimeoutError:
            process.kill()
            await process.wait()
