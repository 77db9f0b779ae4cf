"""Send queue of one client: bounded, and never blocking for the call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_BYTES = 1_048_576
"""About 14 s of PCM at 24 kHz: longer than usual network stalls, and never reached by a client that reads."""
MAX_MESSAGES = 4_096


Content = TypeVar("Content", bound=str | bytes)


@dataclass(frozen=True, slots=True)
class _Message(Generic[Content]):
    content: Content
    sound: bool


class Outbox(Generic[Content]):
    """Messages in order. The call uses `put` and `drop_sound`; the one sending task uses `next`."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_messages: int = MAX_MESSAGES) -> None:
        self._max_bytes = max_bytes
        self._max_messages = max_messages
        self._messages: deque[_Message[Content]] = deque()
        self._bytes = 0
        self._sending = False  # a message from `next` is being sent
        self._filled = asyncio.Event()
        self._overflowed = asyncio.Event()
        self.send_now: Callable[[Content], bool] | None = None
        """Tries to send a message immediately; used while the queue is empty."""

    def __len__(self) -> int:
        """Return the number of queued messages."""
        return len(self._messages)

    def put(self, content: Content, sound: bool = False) -> None:
        """Send a message immediately, or queue it. A full queue overflows for good and drops everything."""
        # keep the order: never overtake a queued message
        first = not self._sending and not self._messages
        if first and self.send_now is not None and self.send_now(content):
            return
        # by the queue before this message: a long message to a client that reads is always accepted
        if self._bytes >= self._max_bytes or len(self._messages) >= self._max_messages:
            self._overflowed.set()
        if self._overflowed.is_set():
            self._messages.clear()
            return
        self._messages.append(_Message(content, sound))
        self._bytes += len(content)
        self._filled.set()

    def drop_sound(self) -> None:
        """Drop unsent audio."""
        self._messages = deque(message for message in self._messages if not message.sound)
        self._bytes = sum(len(message.content) for message in self._messages)

    def clear(self) -> None:
        """Drop all unsent messages."""
        self._messages.clear()
        self._bytes = 0

    async def next(self) -> Content:
        """Return the next message. Implies that the previous one has been sent."""
        self._sending = False
        while not self._messages:
            self._filled.clear()
            await self._filled.wait()
        message = self._messages.popleft()
        self._bytes -= len(message.content)
        self._sending = True
        return message.content

    async def overflowed(self) -> None:
        """Wait for an overflow: the client does not read."""
        await self._overflowed.wait()
