"""A core that another process keeps busy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LEAST_PRIORITY = 19
"""Niceness at which a process gets 1.4 % of a core that another one of usual priority keeps busy."""


@contextmanager
def starved(process_id: int) -> Iterator[None]:
    """Leave a process next to no time: at the least priority, on a core that another process keeps busy."""
    core = min(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            for one in (busy.pid, process_id):
                os.sched_setaffinity(one, {core})
            os.setpriority(os.PRIO_PROCESS, process_id, _LEAST_PRIORITY)
            yield
        finally:
            busy.kill()
