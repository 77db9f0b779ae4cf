"""What the signals to stop mean to a server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable


def stop_on_signals(starting: Callable[[], bool]) -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT. A second one, or one while the server is `starting`, cancels the
    task that asked for this: everything ends at once.
    """
    stopped = asyncio.Event()
    serving = asyncio.current_task()

    def stop() -> None:
        if serving is not None and (stopped.is_set() or starting()):
            serving.cancel()
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    return stopped
