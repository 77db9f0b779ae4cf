"""What a process of ours runs, and how one is started."""

from __future__ import annotations

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


@contextmanager
def _nothing() -> Iterator[Sequence[int]]:
    yield ()


@dataclass(frozen=True, slots=True)
class Program:
    """What a process runs.

    main: `package.module:function`, called with the descriptor of its connection and those it inherits.
    task: the first message to it. services: what it may ask for. passed_on: see `RpcConnection`.
    inherited: further descriptors, open while it is started. threads: that OpenMP may start in it.
    """

    main: str
    task: Any
    services: Mapping[str, Service] = field(default_factory=dict)
    passed_on: tuple[type[Exception], ...] = ()
    inherited: Callable[[], AbstractContextManager[Sequence[int]]] = _nothing
    threads: int = 1

    def run(self, connection: socket.socket, inherited: Sequence[int]) -> subprocess.Popen[bytes]:
        """A fresh interpreter that imports what this one can: nothing is forked. Raises OSError."""
        module, _, function = self.main.partition(":")
        boot = f"import sys; from {module} import {function}; {function}(*map(int, sys.argv[1:]))"
        descriptors = [connection.fileno(), *inherited]
        return subprocess.Popen(
            [sys.executable, "-P", "-c", boot, *map(str, descriptors)],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={
                **with_threads(os.environ, self.threads),
                "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path),
            },
        )
