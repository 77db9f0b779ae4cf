"""A server in a process of its own, and its resource usage."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from voiceagent.validation.errors import CommandFailed, reason_of

try:
    import psutil  # type: ignore[import-untyped]  # ships no types
except ImportError as error:
    raise CommandFailed("calls of a bench need psutil: pip install 'voiceagent-server[bench]'") from error

READY_S = 120.0
STOP_S = 20.0
_SERVE = "import sys; from voiceagent.cli.main import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server, including its workers and engine processes."""

    host: str
    port: int
    process: psutil.Process

    def cpu_s(self) -> float:
        """Return the CPU seconds used so far."""
        return sum(sum(process.cpu_times()[:2]) for process in self._all())

    def memory_bytes(self) -> int:
        """Return the resident memory."""
        return sum(int(process.memory_info().rss) for process in self._all())

    def descriptors(self) -> int:
        """Return the number of open file descriptors."""
        return sum(int(process.num_fds()) for process in self._all())

    def _all(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


def serve_command(config: Path, calls: int, workers: int) -> list[str]:
    """Return the command of `voiceagent serve` for `calls` calls on a free loopback port."""
    arguments = ["serve", "--config", str(config), "--host", "127.0.0.1", "--port", "0"]
    arguments += ["--workers", str(workers)]
    arguments += ["--max-calls", str(2 * calls)]  # a call that just ended still counts when the next begins
    return [sys.executable, "-c", _SERVE, *arguments]


@asynccontextmanager
async def served(command: Sequence[str], core: int | None) -> AsyncIterator[ServerProcess]:
    """Start a server by `command`, which prints its address once it is ready; on `core` alone, if given.

    Raises CommandFailed if it does not start. The server is stopped however this process ends, including
    Ctrl-C and SIGTERM.
    """
    cores = os.sched_getaffinity(0)
    with _on_cores(cores if core is None else {core}):  # inherited by the process
        process = await _start(command)
    with _on_cores(cores - {core} or cores), _ended_by_sigterm():
        try:
            assert process.stdout is not None
            line = (await asyncio.wait_for(process.stdout.readline(), READY_S)).decode()
            address = re.search(r"http://([\d.]+):(\d+)", line)
            if address is None:
                raise CommandFailed(f"the server did not start: {line or 'see its log above'}")
            yield ServerProcess(address[1], int(address[2]), psutil.Process(process.pid))
        finally:
            await stop(process, STOP_S)


@contextmanager
def _on_cores(cores: Collection[int]) -> Iterator[None]:
    """Restrict this process to these cores for the length of the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Cancel the block on SIGTERM as on Ctrl-C, which background processes of a script ignore."""
    loop, running, ended = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()
    assert running is not None

    def end() -> None:
        ended.set()
        running.cancel()

    loop.add_signal_handler(signal.SIGTERM, end)
    try:
        yield
    except asyncio.CancelledError:
        if ended.is_set():
            raise CommandFailed("ended by SIGTERM") from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


async def _start(command: Sequence[str]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    except OSError as error:
        raise CommandFailed(
            f"the server {shlex.join(command)!r} cannot be run: {reason_of(error)}"
        ) from error


async def stop(process: asyncio.subprocess.Process, patience_s: float) -> bool:
    """End a process by SIGTERM; return False if it had to be killed after `patience_s`."""
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), patience_s)
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return True
