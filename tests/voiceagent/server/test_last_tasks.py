"""What still runs as a process ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
import uvloop
from structlog.testing import capture_logs

from voiceagent.server import last_tasks
from voiceagent.server.last_tasks import until_all_end


async def until_cancelled(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("in good order")


async def hold_on() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


def test_a_process_ends_though_a_task_holds_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_tasks, "CLOSE_S", 0.05)
    ended: list[str] = []
    begun: list[asyncio.Task[None]] = []

    async def work() -> None:
        begun.append(asyncio.create_task(until_cancelled(ended)))
        begun.append(asyncio.create_task(hold_on(), name="tool look"))
        await asyncio.sleep(0)

    with capture_logs() as told:
        uvloop.run(until_all_end(work()))
    assert ended == ["in good order"]
    assert [(line["event"], line["task"]) for line in told] == [("task_does_not_end", "tool look")]
