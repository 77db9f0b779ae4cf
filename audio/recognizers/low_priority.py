"""Threads whose work may wait, beside those that a caller waits for."""

from __future__ import annotations

import os
import sys
import threading

_NICENESS = 10
"""Added niceness: a tenth of the processor time of a thread without it."""


def lower_priority() -> None:
    """Lower this thread's priority within the process."""
    if sys.platform == "linux":  # elsewhere niceness applies to processes
        os.setpriority(
            os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS
        )
