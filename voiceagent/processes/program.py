"""Definition and start of child processes."""

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

_POLL_S = 0.002
"""Polling interval for the end of a process: no event reports it on every platform without a thread."""


@contextmanager
def _no_descriptors() -> Iterator[Sequence[int]]:
    yield ()


@dataclass(frozen=True, slots=True)
class Program:
    """A program for a child process.

    main: `package.module:function`, called with the descriptor of its connection and the inherited ones.
    task: its first message. services: the services it may request. passed_on: see `RpcConnection`.
    inherited: context manager of further descriptors, open while it is started. threads: OpenMP's limit in
    it. on_notification: called with its notifications.
    """

    main: str
    task: Any
    services: Mapping[str, Service] = field(default_factory=dict)
    passed_on: tuple[type[Exception], ...] = ()
    inherited: Callable[[], AbstractContextManager[Sequence[int]]] = _no_descriptors
    threads: int = 1
    on_notification: Callable[[Any], None] = lambda value: None

    def run(self, connection: socket.socket, inherited: Sequence[int]) -> subprocess.Popen[bytes]:
        """Start a fresh interpreter with the same import path; nothing is forked. Raises OSError."""
        module, _, function = self.main.partition(":")
        # Imports leave no garbage: collections in between take a tenth of their time.
        boot = (
            f"import gc, sys; gc.disable(); from {module} import {function}; gc.freeze(); gc.enable(); "
            f"{function}(*map(int, sys.argv[1:]))"
        )
        descriptors = [connection.fileno(), *inherited]
        return subprocess.Popen(
            # -P: a module in the user's folder must not shadow one of ours
            [sys.executable, "-P", "-c", boot, *map(str, descriptors)],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            # a library that prints must not write into the output of our command
            stdout=subprocess.DEVNULL,
            env={
                **with_threads(os.environ, self.threads),
                "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path),
            },
        )


class TerminatingProcesses:
    """Terminating processes: reaps those that end, so that nothing else must wait for them."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def add(self, process: subprocess.Popen[bytes]) -> None:
        self._processes.append(process)

    def reap(self) -> bool:
        """Remove the processes that have ended. Return True if none is left."""
        self._processes = [process for process in self._processes if process.poll() is None]
        return not self._processes

    async def end(self, patience_s: float) -> None:
        """Wait until all have ended; kill them after `patience_s`."""
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + patience_s
        while not self.reap():
            if loop.time() >= give_up_s:
                for process in self._processes:
                    process.kill()
            await asyncio.sleep(_POLL_S)
