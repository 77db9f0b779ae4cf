"""A client that records the messages it receives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport


class FakeClient:
    """Records notifications, frames and reports; `until` waits for a notification without looking at a
    clock."""

    def __init__(self) -> None:
        self.notifications: list[notify.Notification] = []
        self.frames: list[tuple[str, Samples]] = []
        self.reports: list[TurnReport] = []
        self.cleared = 0
        self._wake = asyncio.Event()

    def notify(self, notification: notify.Notification) -> None:
        self.notifications.append(notification)
        self._wake.set()

    def play(self, response_id: str, frame: Samples) -> None:
        self.frames.append((response_id, frame))
        self._wake.set()

    def clear(self) -> None:
        self.cleared += 1

    def report(self, turn: TurnReport) -> None:
        self.reports.append(turn)

    def of(self, kind: type) -> list:
        return [notification for notification in self.notifications if isinstance(notification, kind)]

    async def until(self, condition: Callable[[], object], timeout_s: float = 20.0) -> None:
        """Wait until `condition()` holds; the time-out only ends a test that hangs."""
        async with asyncio.timeout(timeout_s):
            while not condition():
                self._wake.clear()
                await self._wake.wait()
