"""A simulated caller on any phone line: speaks recordings, presses keys, and plays what it is sent.

It plays as a provider does: in order, from a buffer, some time after the first piece has arrived; a mark
returns when the audio before it was played, and a clear empties the buffer and returns the marks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from phone_lines import AudioSocket, Command, Message, Provider
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from audio.pcm import Samples

FRAME_S = 0.02


class PhoneCaller:
    """One call. behind_s: how much later than it comes sound is played."""

    def __init__(self, provider: Provider, send: Callable[[Message], None], behind_s: float) -> None:
        self.provider = provider
        self.cleared = 0
        self.played_s = 0.0  # of what was not dropped by a clear
        self.hung_up = False
        self.send = send
        self._behind_s = behind_s
        self._loop = asyncio.get_running_loop()
        self._playing: list[tuple[float, float]] = []
        self._marks: list[tuple[str, asyncio.TimerHandle]] = []
        self._sent = 0
        self._held: list[Command] | None = None
        self._happened = asyncio.Event()

    def hold_back(self) -> None:
        """From now on what the server sends is on its way: its line to the caller stands still."""
        self._held = []

    def let_come(self) -> None:
        """All of that comes now."""
        held, self._held = self._held or [], None
        for command in held:
            self.take(command)

    def take(self, command: Command) -> None:
        """Take what the server sent."""
        if self._held is not None:
            self._held.append(command)
            return
        now_s = self._loop.time()
        if command.kind == "sound":
            idle = not self._playing or self._playing[-1][1] < now_s
            begin_s = now_s + self._behind_s if idle else self._playing[-1][1]
            self._playing.append((begin_s, begin_s + command.seconds))
        elif command.kind == "mark":
            at_s = self._playing[-1][1] if self._playing else now_s
            self._marks.append((command.name, self._loop.call_at(at_s, self._reach, command.name)))
        elif command.kind == "clear":
            self.played_s = self.playing_s
            self._playing = []
            self.cleared += 1
            for name, timer in self._marks:
                timer.cancel()
                self.send(self.provider.played(name))
            self._marks = []
        else:
            self.hung_up = True
        self._happened.set()

    def leave(self) -> None:
        """The connection has ended."""
        self.hung_up = True
        self._happened.set()

    @property
    def playing_s(self) -> float:
        """Seconds of sound that were played since the last clear."""
        now_s = self._loop.time()
        return sum(max(0.0, min(now_s, end_s) - begin_s) for begin_s, end_s in self._playing)

    def _reach(self, name: str) -> None:
        self._marks = [mark for mark in self._marks if mark[0] != name]
        self.send(self.provider.played(name))

    async def speak(self, samples: Samples) -> None:
        """Say something at the pace of real time; pieces change places where the line may do that."""
        length = round(FRAME_S * self.provider.format.rate_hz)
        due_s = self._loop.time()
        waiting: list[Message] = []
        for begin in range(0, len(samples) - length + 1, length):
            self._sent += 1
            waiting.append(self.provider.sound(samples[begin : begin + length], self._sent))
            if len(waiting) == (2 if self.provider.unordered else 1):
                while waiting:
                    self.send(waiting.pop())
            due_s += FRAME_S
            await asyncio.sleep(max(0.0, due_s - self._loop.time()))

    def press(self, digits: str) -> None:
        """Press keys."""
        for digit in digits:
            self.send(self.provider.key(digit))

    async def until(self, condition: Callable[[], object], timeout_s: float = 30.0) -> None:
        """Wait until something holds; it is looked at whenever something came, and a little later."""
        async with asyncio.timeout(timeout_s):
            while not condition():
                self._happened.clear()
                self._loop.call_later(0.1, self._happened.set)
                await self._happened.wait()


@asynccontextmanager
async def calling(
    provider: Provider, address: str, behind_s: float = 0.0, headers: Mapping[str, str] | None = None
) -> AsyncIterator[PhoneCaller]:
    """A call that has begun. address: a WebSocket's URL, or the port of AudioSocket on this machine. headers:
    of the handshake.
    """
    if isinstance(provider, AudioSocket):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address))
        caller = PhoneCaller(provider, writer.write, behind_s)
        listening = asyncio.create_task(_listen_tcp(reader, caller))
    else:
        websocket = await connect(address, proxy=None, additional_headers=headers)
        outgoing: asyncio.Queue[Message] = asyncio.Queue()
        caller = PhoneCaller(provider, outgoing.put_nowait, behind_s)
        listening = asyncio.create_task(_listen(websocket, caller))
        sending = asyncio.create_task(_speak(websocket, outgoing))
    for message in provider.start():
        caller.send(message)
    try:
        yield caller
    finally:
        if isinstance(provider, AudioSocket):
            writer.close()
        else:
            await websocket.close()
            sending.cancel()
        await listening


async def _listen(websocket: ClientConnection, caller: PhoneCaller) -> None:
    with suppress(ConnectionClosed):
        async for message in websocket:
            caller.take(caller.provider.read(message))
    caller.leave()


async def _speak(websocket: ClientConnection, outgoing: asyncio.Queue[Message]) -> None:
    try:
        while True:
            await websocket.send(await outgoing.get())
    except ConnectionClosed:
        pass


async def _listen_tcp(reader: asyncio.StreamReader, caller: PhoneCaller) -> None:
    try:
        while True:
            head = await reader.readexactly(3)
            caller.take(
                caller.provider.read(head + await reader.readexactly(int.from_bytes(head[1:], "big")))
            )
    except (asyncio.IncompleteReadError, ConnectionError):
        caller.leave()
