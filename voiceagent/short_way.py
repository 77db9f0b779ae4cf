"""A shorter way through uvicorn for the calls of a server: 100 messages a second and call go along it.

The way of ASGI costs a message two system calls (reading is paused and resumed around each), a queue and a
task switch. Here a text message is handed over in the callback that read it, and one is written where it is
made. ASGI's own way stays open, and in order: it is taken wherever this one cannot be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State

EXTENSION = "voiceagent.short_way"
"""Where it stands among the extensions of an ASGI scope."""
TURN_MESSAGES = 8
"""Messages taken at once from one connection; more wait in ASGI's queue, and others get their turn."""


class ShortWay(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol, for `uvicorn.Config(ws=ShortWay)`."""

    take: Callable[[str], None] | None = None
    """Is handed each text message in place of ASGI's `receive`; must not raise. None: nothing is."""
    _turn_left = 0

    def handle_connect(self, event: object) -> None:
        """Make the short way known to the application."""
        super().handle_connect(event)  # type: ignore[arg-type]
        if not self.handshake_complete:  # it was not refused at once
            cast("dict[str, object]", self.scope["extensions"])[EXTENSION] = self

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        self._turn_left = TURN_MESSAGES
        super().data_received(data)

    def handle_text(self, event: Frame) -> None:
        """Hand a whole message over, unless others wait before it."""
        if self.take is None or not event.fin or not self._turn_left or not self.queue.empty():
            super().handle_text(event)
            return
        try:
            text = bytes(event.data).decode()
        except UnicodeDecodeError:
            super().handle_text(event)  # closes the connection
            return
        self._turn_left -= 1
        self.take(text)

    def send_now(self, message: str | bytes) -> bool:
        """Send a message at once; False where it would have to wait, or nobody is there any more."""
        if not self.writable.is_set() or self.conn.state is not State.OPEN or self.transport.is_closing():
            return False
        if isinstance(message, str):
            frame = Frame(Opcode.TEXT, message.encode())
        else:
            frame = Frame(Opcode.BINARY, message)
        self.transport.write(frame.serialize(mask=False))
        return True
