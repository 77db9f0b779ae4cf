"""Keys and speech of the caller while the agent's code collects input, which the model does not see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from voiceagent.agents.capture.dialogue import Ask, Captured, Dialogue
from voiceagent.agents.capture.task import Task
from voiceagent.agents.digits import DigitEntry
from voiceagent.conversation.events import DictationBegan, SpeechRequested, SpellingExpected, TurnsClaimed
from voiceagent.session.agent import AgentSession, Pressed, ToolFailed

PAUSE_S = 3.0
"""Pause after which an entry of unknown length is complete."""
SILENCE_S = 8.0
"""Silence after which the agent asks again for what it captures."""
_OVER = "the call is over"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Key:
    """A phone key."""

    digit: str


@dataclass(frozen=True, slots=True)
class Words:
    """A turn of the caller."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentSpoke:
    """The agent's speech has been played: the caller's time starts."""


@dataclass(frozen=True, slots=True)
class CallOver:
    """The call ended."""


_Input = asyncio.Queue[Key | Words | AgentSpoke | CallOver]


class CallerInput:
    """Passes the caller's input to the tool that collects it. At most one at a time, none after the call."""

    def __init__(self) -> None:
        self._queue: _Input | None = None
        self._over = False
        # (finish key, loop time until which it is ignored) after an entry of known length
        self._ignored_terminator = ("", 0.0)

    @property
    def wanted(self) -> bool:
        """True while a tool collects input."""
        return self._queue is not None

    async def settled(self) -> None:
        """Wait until all input so far has been processed."""
        if self._queue is not None:
            await self._queue.join()

    def end(self) -> None:
        """End the collection with the call."""
        self._over = True
        self.push(CallOver())

    def push(self, happened: Key | Words | AgentSpoke | CallOver) -> bool:
        """Pass input to the tool that collects it. Return False if there is none."""
        if self._queue is not None:
            self._queue.put_nowait(happened)
        return self._queue is not None

    def press(self, digit: str) -> Pressed:
        """Handle a key. Callers end even entries of known length with `#`, so one is ignored for a while
        after such an entry, and does not end the next one.
        """
        (finish, until_s), self._ignored_terminator = self._ignored_terminator, ("", 0.0)
        if digit == finish and asyncio.get_running_loop().time() < until_s:
            return Pressed.IGNORED_TERMINATOR
        return Pressed.TAKEN if self.push(Key(digit)) else Pressed.UNASKED

    async def digits(self, session: AgentSession, prompt: str, entry: DigitEntry, timeout_s: float) -> str:
        """Ask for digits and return them. timeout_s: maximum time without input.

        Raises ToolFailed, with a message for the model.
        """
        with self._claim(session, entry.private) as asking:
            if prompt:
                session.post(SpeechRequested(prompt))
            dictates = True  # renewed each turn, for the missing digits
            while not entry.complete:
                if dictates:
                    session.post(DictationBegan(entry.missing))
                dictates = False
                wait_s = PAUSE_S if entry.digits and entry.count is None else timeout_s
                try:
                    async with asyncio.timeout(wait_s):
                        happened = await asking.get()
                except TimeoutError:
                    if session.quiet:
                        entry.time_is_up()
                    continue
                asking.task_done()
                match happened:
                    case Key(digit):
                        entry.press(digit)
                        if entry.complete and digit != entry.finish:
                            self._ignored_terminator = (
                                entry.finish,
                                asyncio.get_running_loop().time() + PAUSE_S,
                            )
                    case Words(text):
                        entry.say(text)
                        dictates = True
                    case CallOver():
                        raise ToolFailed(_OVER)
        return entry.result()

    async def capture(self, session: AgentSession, task: Task[T], dialogue: Dialogue[T]) -> T | None:
        """Run the dialogue of a task and return its value, None if the caller gave up or hung up.

        Raises ToolFailed if other input is collected at the moment.
        """
        if self._over:
            return None
        with self._claim(session, task.private) as asking:
            step: Ask | Captured[T] = dialogue.begin()
            while isinstance(step, Ask):
                if step.text:
                    session.post(SpeechRequested(step.text, answers=dialogue.answers))
                if step.dictated:
                    session.post(DictationBegan(task.digits))
                session.post(SpellingExpected(step.spelled))
                step = await self._next_step(session, dialogue, asking, step)
        return step.value

    async def _next_step(
        self, session: AgentSession, dialogue: Dialogue[T], asking: _Input, asked: Ask
    ) -> Ask | Captured[T]:
        """Wait for words, a key or a silence, and return the dialogue's next step."""
        while True:
            wait_s = PAUSE_S if dialogue.pauses else SILENCE_S
            try:
                async with asyncio.timeout(wait_s):
                    happened = await asking.get()
            except TimeoutError:
                if session.quiet:
                    return dialogue.on_silence()
                continue
            asking.task_done()
            match happened:
                case Key(digit):
                    return dialogue.on_key(digit)
                case Words(text):
                    return dialogue.on_words(text)
                case CallOver():
                    return Captured(None)

    @contextmanager
    def _claim(self, session: AgentSession, private: bool = False) -> Iterator[_Input]:
        if self._over:
            raise ToolFailed(_OVER)
        if self._queue is not None:
            raise ToolFailed("not done: something else is asked of the caller at the moment")
        asking = self._queue = asyncio.Queue()
        session.post(TurnsClaimed(True, private))
        try:
            yield asking
        finally:
            self._queue = None
            while not asking.empty():
                if asking.get_nowait() == Key(
                    self._ignored_terminator[0]
                ):  # pressed before the entry was complete
                    self._ignored_terminator = "", 0.0
                asking.task_done()
            session.post(TurnsClaimed(False))
