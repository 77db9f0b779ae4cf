"""Resource usage of this process and its children."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PARENT, _USER, _SYSTEM, _PAGES = 1, 11, 12, 21
"""Fields of /proc/PID/stat after the name (proc(5))."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Resource usage. cpu_s: CPU time since the processes began. memory_bytes: resident memory."""

    cpu_s: float
    memory_bytes: int


def usage() -> Usage:
    """Return the usage of this process and its descendants; without /proc, only this process's CPU time."""
    stats = dict(_stats())
    tree = {os.getpid()}
    while more := {pid for pid, fields in stats.items() if int(fields[_PARENT]) in tree} - tree:
        tree |= more
    below = [stats[pid] for pid in tree - {os.getpid()}]
    ticks = sum(int(fields[_USER]) + int(fields[_SYSTEM]) for fields in below)
    pages = sum(int(stats[pid][_PAGES]) for pid in tree if pid in stats)
    return Usage(time.process_time() + ticks * _TICK_S, pages * _PAGE)


def _stats() -> Iterator[tuple[int, list[str]]]:
    for path in _PROC.glob("[0-9]*/stat"):
        try:
            yield int(path.parent.name), path.read_text().rpartition(") ")[2].split()
        except OSError:  # the process has ended
            continue
