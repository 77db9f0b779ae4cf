"""What waits to be sent to one client: a bounded queue that never makes the call wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_BYTES = 1_048_576
"""About 14 s of PCM at 24 kHz: a network may stall for so long, a client that reads never does."""
MAX_MESSAGES = 4_096


Content = TypeVar("Content", bound=str | bytes)


@dataclass(frozen=True, slots=True)
class _Message(Generic[Content]):
    content: Content
    sound: bool


class Outbox(Generic[Content]):
    """Messages in order. `put` and `drop_sound` are for the call, `next` is for the one task that sends."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_messages: int = MAX_MESSAGES) -> None:
        self._max_bytes = max_bytes
        self._max_messages = max_messages
        self._messages: deque[_Message[Content]] = deque()
        self._bytes = 0
        self._sending = False  # a message that was taken is on its way
        self._filled = asyncio.Event()
        self._overflowed = asyncio.Event()
        self.send_now: Callable[[Content], bool] | None = None
        """Tries to send a message at once, where none waits before it."""

    def __len__(self) -> int:
        """Messages that wait."""
        return len(self._messages)

    def put(self, content: Content, sound: bool = False) -> None:
        """Send a message now, or queue it if there is room, at any length; if there is none, overflow for
        good.
        """
        # behind one that waits nothing may overtake
        first = not self._sending and not self._messages
        if first and self.send_now is not None and self.send_now(content):
            return
        # by what waits already: a long message to a client that reads always goes
        if self._bytes >= self._max_bytes or len(self._messages) >= self._max_messages:
            self._overflowed.set()
        if self._overflowed.is_set():
            self._messages.clear()
            return
        self._messages.append(_Message(content, sound))
        self._bytes += len(content)
        self._filled.set()

    def drop_sound(self) -> None:
        """Take back the sound that has not been sent."""
        self._messages = deque(message for message in self._messages if not message.sound)
        self._bytes = sum(len(message.content) for message in self._messages)

    async def next(self) -> Content:
        """The next message, once there is one; the one before it has been sent."""
        self._sending = False
        while not self._messages:
            self._filled.clear()
            await self._filled.wait()
        message = self._messages.popleft()
        self._bytes -= len(message.content)
        self._sending = True
        return message.content

    async def overflowed(self) -> None:
        """Wait until more should wait here than may: the client does not read."""
        await self._overflowed.wait()
