"""Recognizers behind a server that hears a stream: sound goes out over a WebSocket, words come back.

What is said in which order is a `Dialogue`, pure, one for each API; here is the connection: it is opened with
the first sound, and where it is lost another one is sent what the server has not settled yet.
"""

from __future__ import annotations

import asyncio
import random
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from audio.hosted.server import HostedServer, reason_of, retry_wait_s
from audio.hosted.websocket import ConnectionLost, opened, say_goodbye
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, RecognizerError, in_pieces
from audio.recognizers.dialogue import Dialogue, DialogueError, Messages
from audio.recognizers.look_ahead_buffer import LookAheadBuffer

_PIECE_SAMPLES = SAMPLE_RATE_HZ // 10
_WAITING_PIECES = 200
"""20 s may wait to be sent before the caller's iterator is held back."""
_PINGED_MESSAGES = 40
"""4 s of sound are asked about at once; as much again may be on its way meanwhile."""


@dataclass(eq=False)
class StreamedRecognizer(HostedServer):
    """A recognizer behind a WebSocket.

    path: below the server's address, with its query. farewell: what the server wants to hear last.
    silence_s: how long nothing is sent before `silent` is asked.
    """

    failure: ClassVar[type[Exception]] = RecognizerError
    farewell: ClassVar[tuple[str, ...]] = ()
    silence_s: ClassVar[float] = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._headers: dict[str, str] | None = None
        self._open: set[ClientConnection] = set()
        self._closing: set[asyncio.Task[None]] = set()

    @abstractmethod
    def path(self) -> str:
        """The path of the connection, with its query."""

    @abstractmethod
    def headers(self, key: str) -> dict[str, str]:
        """The headers of the handshake."""

    @abstractmethod
    def dialogue(self) -> Dialogue:
        """A new utterance."""

    async def start(self) -> None:
        """Find the key and try the server. Raises RecognizerError."""
        if self._headers is not None:
            return
        headers = self.headers(self.key())
        try:
            connection = await opened(self, self.path(), headers)
        except ConnectionLost as lost:
            raise self.failed(str(lost)) from lost
        await say_goodbye(connection, *self.farewell)
        self._headers = headers

    async def close(self) -> None:
        """End all utterances; a second call does nothing."""
        self._headers = None
        for connection in self._open:
            connection.transport.abort()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        if self._headers is None:
            raise self.failed("not started, or closed")
        async with LookAheadBuffer(in_pieces(sound, _PIECE_SAMPLES), _WAITING_PIECES) as ahead:
            utterance = _Utterance(self.dialogue(), ahead)
            failures = 0
            while not utterance.over:
                before = utterance.dialogue.settled_samples
                try:
                    async with aclosing(self._converse(utterance)) as hypotheses:
                        async for hypothesis in hypotheses:
                            yield hypothesis
                    failures = 0
                except ConnectionLost as lost:
                    failures = 1 if utterance.dialogue.settled_samples > before else failures + 1
                    if failures > self.retries:
                        raise self.failed(str(lost)) from lost
                    await asyncio.sleep(retry_wait_s(failures, random.random))
                except DialogueError as error:
                    raise self.failed(str(error)) from error

    async def _converse(self, utterance: _Utterance) -> AsyncGenerator[Hypothesis, None]:
        """The utterance over one connection, which is opened when there is sound, until it rests or is over.

        Raises ConnectionLost, DialogueError, RecognizerError.
        """
        while utterance.dialogue.resting:
            hypothesis = await utterance.rest()
            if hypothesis is not None:
                yield hypothesis
            if utterance.over:
                return
        if self._headers is None:
            raise self.failed("closed")
        connection = await opened(self, self.path(), self._headers)
        self._open.add(connection)
        try:
            async with aclosing(utterance.talk(connection, self.silence_s, self.timeout_s)) as hypotheses:
                async for hypothesis in hypotheses:
                    yield hypothesis
        except ConnectionClosed as closed:
            if self._headers is None:
                raise self.failed("closed") from closed
            raise ConnectionLost(f"the connection was lost: {reason_of(closed)}") from closed
        finally:
            self._open.discard(connection)
            self._let_go(connection)

    def _let_go(self, connection: ClientConnection) -> None:
        """Close it without waiting for that."""
        task = asyncio.get_running_loop().create_task(say_goodbye(connection, *self.farewell))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


class _Utterance:
    """One utterance, over as many connections as it takes.

    over: its sound has ended, and its last hypothesis was told.
    """

    def __init__(self, dialogue: Dialogue, ahead: LookAheadBuffer[Samples | Flush]) -> None:
        self.dialogue = dialogue
        self.over = False
        self._ahead = ahead
        self._asked = False
        self._ended = False
        self._reported = Hypothesis("")

    async def rest(self) -> Hypothesis | None:
        """Wait for sound without a connection; the answer to a flush, where one comes first."""
        item = await self._ahead.next()
        if isinstance(item, np.ndarray):
            self.dialogue.hear(item)
            return None
        self._asked, self._ended = True, item is None
        return self._hypothesis()

    async def talk(
        self, connection: ClientConnection, silence_s: float, timeout_s: float
    ) -> AsyncGenerator[Hypothesis, None]:
        """Send and receive until nothing is left to be heard. Raises ConnectionClosed, DialogueError."""
        exchange = _Exchange(connection, self._ahead)
        try:
            await exchange.send(self.dialogue.begin())
            while not self.over and not self.dialogue.resting:
                waiting = self.dialogue.pending
                sound_wanted = not (waiting or self._ended or self.dialogue.behind)
                item = await exchange.next(sound_wanted, timeout_s if waiting else silence_s)
                await exchange.send(self._take(item))
                hypothesis = self._hypothesis()
                if hypothesis is not None:
                    yield hypothesis
        finally:
            exchange.stop()

    def _take(self, item: _Item) -> Messages:
        """Take in what came; what is said to that."""
        if isinstance(item, str):
            self.dialogue.receive(item)
            return []
        if isinstance(item, np.ndarray):
            return self.dialogue.hear(item)
        if isinstance(item, _Silence):
            return self.dialogue.silent()
        self._asked, self._ended = True, item is None
        return self.dialogue.flush()

    def _hypothesis(self) -> Hypothesis | None:
        """What there is to be told now."""
        dialogue = self.dialogue
        settled = self._asked and not dialogue.pending
        hypothesis = Hypothesis(dialogue.text, dialogue.stable, settled, dialogue.confidence)
        if not settled and hypothesis == self._reported:
            return None
        if settled:
            self._asked = False
            self.over = self._ended
        self._reported = replace(hypothesis, settled=False)
        return hypothesis


class _Silence:
    """Nothing came for a while."""


_Item = Samples | Flush | str | _Silence | None


class _Exchange:
    """Waits for the caller's sound and the server's messages at once.

    Not more is sent than the server reads: its answer to a ping (RFC 6455, 5.5.3) says that all before it has
    been read, where its own messages do not say how far it is.
    """

    def __init__(self, connection: ClientConnection, ahead: LookAheadBuffer[Samples | Flush]) -> None:
        self._connection = connection
        self._ahead = ahead
        self._message: asyncio.Task[str] | None = None
        self._sound: asyncio.Task[Samples | Flush | None] | None = None
        self._pong: asyncio.Future[float] | None = None
        self._not_pinged = 0

    async def send(self, messages: Messages) -> None:
        """Send them in order. Raises ConnectionClosed."""
        for message in messages:
            await self._connection.send(message)
        self._not_pinged += len(messages)

    async def next(self, sound_wanted: bool, limit_s: float) -> _Item:
        """A message, else the next sound if it is wanted, else silence after `limit_s`. Raises
        ConnectionClosed, and what the sound raises.
        """
        if self._message is None:
            self._message = asyncio.create_task(self._connection.recv(decode=True))
        if sound_wanted and self._sound is None:
            self._sound = asyncio.create_task(self._next_sound())
        wanted: list[asyncio.Task[Any]] = [self._message]
        if sound_wanted and self._sound is not None:
            wanted.append(self._sound)
        done, _ = await asyncio.wait(wanted, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if self._message in done:
            message, self._message = self._message, None
            return message.result()
        if self._sound is not None and self._sound in done:
            sound, self._sound = self._sound, None
            return sound.result()
        return _Silence()

    async def _next_sound(self) -> Samples | Flush | None:
        """The next sound, once the server has read up to the ping before. Raises ConnectionClosed."""
        if self._not_pinged >= _PINGED_MESSAGES:
            if self._pong is not None:
                await asyncio.shield(self._pong)
            self._pong = asyncio.ensure_future(await self._connection.ping())
            self._not_pinged = 0
        return await self._ahead.next()

    def stop(self) -> None:
        """Wait for nothing more."""
        for task in (self._message, self._sound):
            if task is not None:
                task.cancel()
