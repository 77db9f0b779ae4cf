"""Recognizers behind a streaming server: audio is sent over a WebSocket, transcripts come back.

The protocol is a `Dialogue`, one for each API; this module handles the connection: it is opened with the
first audio, and if it is lost, a new one is sent the unsettled audio.
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

from audio.hosted.server import (
    ConnectionLost,
    HostedServer,
    close_websocket,
    describe_error,
    open_websocket,
    retry_wait_s,
)
from audio.pcm import Samples
from audio.recognizers import (
    NOTHING_EXPECTED,
    SAMPLE_RATE_HZ,
    ExpectedSpeech,
    Flush,
    Hypothesis,
    RecognizerError,
    in_pieces,
)
from audio.recognizers.dialogue import Dialogue, DialogueError, Messages
from audio.recognizers.look_ahead_buffer import LookAheadBuffer

_PIECE_SAMPLES = SAMPLE_RATE_HZ // 10
_MAX_WAITING_PIECES = 200
"""Backlog of 20 s, after which the caller's iterator is not read."""
_MESSAGES_PER_PING = 40
"""Ping after 4 s of audio; as much again may be in flight before the pong."""


@dataclass(eq=False)
class StreamedRecognizer(HostedServer):
    """A recognizer behind a WebSocket.

    Attributes:
        takes_expected: True if `path` has the phrases of a call.
        closing_messages: last messages of the protocol.
        idle_timeout_s: idle time after which `Dialogue.on_timeout` is called.
    """

    failure: ClassVar[type[Exception]] = RecognizerError
    takes_expected: ClassVar[bool] = False
    closing_messages: ClassVar[tuple[str, ...]] = ()
    idle_timeout_s: ClassVar[float] = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._headers: dict[str, str] | None = None
        self._open: set[ClientConnection] = set()
        self._closing: set[asyncio.Task[None]] = set()

    @abstractmethod
    def path(self, expected: ExpectedSpeech) -> str:
        """Return the path of a connection below the server's address, with its query."""

    @abstractmethod
    def headers(self, key: str) -> dict[str, str]:
        """Return the headers of the handshake."""

    @abstractmethod
    def dialogue(self) -> Dialogue:
        """Begin an utterance."""

    async def start(self) -> None:
        """Read the API key and try to connect.

        Raises:
            RecognizerError: the key is not set, or the server refused or cannot be reached.
        """
        if self._headers is not None:
            return
        headers = self.headers(self.key())
        try:
            connection = await open_websocket(self, self.path(NOTHING_EXPECTED), headers)
        except ConnectionLost as lost:
            raise self.failed(str(lost)) from lost
        await close_websocket(connection, *self.closing_messages)
        self._headers = headers

    async def close(self) -> None:
        """End all utterances; a second call does nothing."""
        self._headers = None
        for connection in self._open:
            connection.transport.abort()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def recognize(
        self, sound: AsyncIterator[Samples | Flush], expected: ExpectedSpeech = NOTHING_EXPECTED
    ) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance.

        Args:
            sound: audio and flushes.
            expected: knowledge of it.

        Yields:
            Hypotheses; see `Recognizer`.

        Raises:
            RecognizerError: the server refused, or the connection was lost for good.
        """
        if self._headers is None:
            raise self.failed("not started, or closed")
        async with LookAheadBuffer(in_pieces(sound, _PIECE_SAMPLES), _MAX_WAITING_PIECES) as ahead:
            utterance = _Utterance(self.dialogue(), ahead, expected)
            failures = 0
            while not utterance.over:
                before = utterance.dialogue.settled_samples
                try:
                    async with aclosing(self._run_connection(utterance)) as hypotheses:
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

    async def _run_connection(self, utterance: _Utterance) -> AsyncGenerator[Hypothesis, None]:
        """Run the utterance over one connection, opened when there is audio, until it rests or is over.

        Raises ConnectionLost, DialogueError, RecognizerError.
        """
        while utterance.dialogue.is_idle:
            hypothesis = await utterance.wait_for_audio()
            if hypothesis is not None:
                yield hypothesis
            if utterance.over:
                return
        if self._headers is None:
            raise self.failed("closed")
        connection = await open_websocket(self, self.path(utterance.expected), self._headers)
        self._open.add(connection)
        try:
            async with aclosing(utterance.run(connection, self.idle_timeout_s, self.timeout_s)) as hypotheses:
                async for hypothesis in hypotheses:
                    yield hypothesis
        except ConnectionClosed as closed:
            if self._headers is None:
                raise self.failed("closed") from closed
            raise ConnectionLost(f"the connection was lost: {describe_error(closed)}") from closed
        finally:
            self._open.discard(connection)
            self._close_in_background(connection)

    def _close_in_background(self, connection: ClientConnection) -> None:
        task = asyncio.get_running_loop().create_task(close_websocket(connection, *self.closing_messages))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


class _Utterance:
    """State of one utterance, over as many connections as it takes.

    over: its audio has ended, and its last hypothesis was yielded.
    """

    def __init__(
        self, dialogue: Dialogue, ahead: LookAheadBuffer[Samples | Flush], expected: ExpectedSpeech
    ) -> None:
        self.dialogue = dialogue
        self.expected = expected
        self.over = False
        self._ahead = ahead
        self._flush_requested = False
        self._ended = False
        self._reported = Hypothesis("")

    async def wait_for_audio(self) -> Hypothesis | None:
        """Wait for audio without a connection. Return the answer to a flush that comes first."""
        item = await self._ahead.next()
        if isinstance(item, np.ndarray):
            self.dialogue.push_audio(item)
            return None
        self._flush_requested, self._ended = True, item is None
        return self._hypothesis()

    async def run(
        self, connection: ClientConnection, idle_timeout_s: float, timeout_s: float
    ) -> AsyncGenerator[Hypothesis, None]:
        """Send and receive until nothing is left to transcribe. Raises ConnectionClosed, DialogueError."""
        exchange = _Exchange(connection, self._ahead)
        try:
            await exchange.send(self.dialogue.on_connected())
            while not self.over and not self.dialogue.is_idle:
                waiting = self.dialogue.pending
                sound_wanted = not (waiting or self._ended or self.dialogue.lags)
                item = await exchange.next(sound_wanted, timeout_s if waiting else idle_timeout_s)
                await exchange.send(self._process(item))
                hypothesis = self._hypothesis()
                if hypothesis is not None:
                    yield hypothesis
        finally:
            exchange.stop()

    def _process(self, item: _Item) -> Messages:
        if isinstance(item, str):
            self.dialogue.on_message(item)
            return []
        if isinstance(item, np.ndarray):
            return self.dialogue.push_audio(item)
        if isinstance(item, _Timeout):
            return self.dialogue.on_timeout()
        self._flush_requested, self._ended = True, item is None
        return self.dialogue.flush()

    def _hypothesis(self) -> Hypothesis | None:
        dialogue = self.dialogue
        settled = self._flush_requested and not dialogue.pending
        hypothesis = Hypothesis(dialogue.text, dialogue.stable, settled, dialogue.confidence)
        if not settled and hypothesis == self._reported:
            return None
        if settled:
            self._flush_requested = False
            self.over = self._ended
        self._reported = replace(hypothesis, settled=False)
        return hypothesis


class _Timeout:
    """Result of a wait that timed out."""


_Item = Samples | Flush | str | _Timeout | None


class _Exchange:
    """Waits for the caller's audio and the server's messages at once.

    Audio is limited to what the server reads: its pong (RFC 6455, 5.5.3) confirms that it has read everything
    before the ping. Needed because the protocols do not report progress.
    """

    def __init__(self, connection: ClientConnection, ahead: LookAheadBuffer[Samples | Flush]) -> None:
        self._connection = connection
        self._ahead = ahead
        self._message: asyncio.Task[str] | None = None
        self._sound: asyncio.Task[Samples | Flush | None] | None = None
        self._pong: asyncio.Future[float] | None = None
        self._since_ping = 0

    async def send(self, messages: Messages) -> None:
        """Send messages in order. Raises ConnectionClosed."""
        for message in messages:
            await self._connection.send(message)
        self._since_ping += len(messages)

    async def next(self, sound_wanted: bool, timeout_s: float) -> _Item:
        """Return a message, else the next audio if wanted, else `_Timeout` after `timeout_s`.

        Raises ConnectionClosed, and exceptions of the audio's iterator.
        """
        if self._message is None:
            self._message = asyncio.create_task(self._connection.recv(decode=True))
        if sound_wanted and self._sound is None:
            self._sound = asyncio.create_task(self._next_sound())
        wanted: list[asyncio.Task[Any]] = [self._message]
        if sound_wanted and self._sound is not None:
            wanted.append(self._sound)
        done, _ = await asyncio.wait(wanted, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if self._message in done:
            message, self._message = self._message, None
            return message.result()
        if self._sound is not None and self._sound in done:
            sound, self._sound = self._sound, None
            return sound.result()
        return _Timeout()

    async def _next_sound(self) -> Samples | Flush | None:
        """Return the next audio, once the server has answered the previous ping. Raises ConnectionClosed."""
        if self._since_ping >= _MESSAGES_PER_PING:
            if self._pong is not None:
                await asyncio.shield(self._pong)
            self._pong = asyncio.ensure_future(await self._connection.ping())
            self._since_ping = 0
        return await self._ahead.next()

    def stop(self) -> None:
        for task in (self._message, self._sound):
            if task is not None:
                task.cancel()
