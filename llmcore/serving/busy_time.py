"""Busy time of a process, which distinguishes one that is slow from one that hangs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def busy_time_s(process_id: int) -> float | None:
    """Return how long a process has computed, or has waited for a core to compute on, in seconds.

    The wait counts because on a crowded machine a process may get next to no CPU time although it does not
    hang. One that is stopped or deadlocked waits for no core. Returns None if the platform has no `/proc`, or
    the process has ended. Sources: proc(5), fields `utime` and `stime` of `/proc/PID/stat`; the kernel's
    sched-stats.rst, second field of `schedstat`, in nanoseconds, which some kernels lack.
    """
    folder = Path(f"/proc/{process_id}")
    try:
        stat = (folder / "stat").read_text()
        threads = list((folder / "task").iterdir())
    except OSError:
        return None
    user, system = stat.rpartition(") ")[2].split()[11:13]  # the name before them may hold spaces
    busy_s = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    for thread in threads:
        with suppress(OSError):  # the thread has just ended
            busy_s += int((thread / "schedstat").read_text().split()[1]) / 1e9
    return busy_s
