"""What still runs as a process ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

log = structlog.get_logger()

CLOSE_S = 5.0
"""How long tasks may take to end once they are cancelled."""


async def until_all_end(work: Coroutine[Any, Any, None]) -> None:
    """Do the work of a process, then cancel what runs beside it, such as tools of calls that are over. What
    takes longer than `CLOSE_S` is told and left: an event loop that closes would wait for it without end.
    """
    try:
        await work
    finally:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            _, hanging = await asyncio.wait(left, timeout=CLOSE_S)
            for task in hanging:
                log.warning("task_does_not_end", task=task.get_name())
                asyncio.tasks._unregister_task(task)
