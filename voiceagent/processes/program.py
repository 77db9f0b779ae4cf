"""What a process of ours runs, and how one is started."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from voiceagent.processes.streams import Service
from voiceagent.processes.threads import with_threads

_LOOK_S = 0.002
"""How often it is checked whether a process has ended: no event tells on every platform, without a thread."""


@contextmanager
def _nothing() -> Iterator[Sequence[int]]:
    yield ()


@dataclass(frozen=True, slots=True)
class Program:
    """What a process runs.

    main: `package.module:function`, called with the descriptor of its connection and those it inherits.
    task: the first message to it. services: what it may ask for. passed_on: see `RpcConnection`.
    inherited: further descriptors, open while it is started. threads: that OpenMP may start in it. on_told:
    called with what it tells of itself unasked.
    """

    main: str
    task: Any
    services: Mapping[str, Service] = field(default_factory=dict)
    passed_on: tuple[type[Exception], ...] = ()
    inherited: Callable[[], AbstractContextManager[Sequence[int]]] = _nothing
    threads: int = 1
    on_told: Callable[[Any], None] = lambda value: None

    def run(self, connection: socket.socket, inherited: Sequence[int]) -> subprocess.Popen[bytes]:
        """A fresh interpreter that imports what this one can: nothing is forked. Raises OSError."""
        module, _, function = self.main.partition(":")
        boot = f"import sys; from {module} import {function}; {function}(*map(int, sys.argv[1:]))"
        descriptors = [connection.fileno(), *inherited]
        return subprocess.Popen(
            # -P: a module of the user's folder must not stand in for one of ours
            [sys.executable, "-P", "-c", boot, *map(str, descriptors)],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            # a library that prints must not write into what our own command prints
            stdout=subprocess.DEVNULL,
            env={
                **with_threads(os.environ, self.threads),
                "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path),
            },
        )


class Dying:
    """Processes that are to end: a killed one takes its time, and nobody waits for it."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def add(self, process: subprocess.Popen[bytes]) -> None:
        """One more."""
        self._processes.append(process)

    def reap(self) -> bool:
        """Forget those that have ended; whether none is left."""
        self._processes = [process for process in self._processes if process.poll() is None]
        return not self._processes

    async def end(self, patience_s: float) -> None:
        """Wait until all have ended; they are killed after `patience_s`."""
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + patience_s
        while not self.reap():
            if loop.time() >= give_up_s:
                for process in self._processes:
                    process.kill()
            await asyncio.sleep(_LOOK_S)
