"""What the caller presses and says while the agent's code asks for it: that goes to the code alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from voiceagent.agents.digits import DigitEntry
from voiceagent.conversation.events import DictationBegan, SpeechRequested, TurnsClaimed
from voiceagent.session.agent import AgentDoes, Pressed, ToolFailed

PAUSE_S = 3.0
"""An entry of any length is complete when nothing more has come for this long."""
_OVER = "the call is over"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the phone."""

    digit: str


@dataclass(frozen=True, slots=True)
class Words:
    """A turn of the caller."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentSpoke:
    """What the agent said has been played: from now on the caller is waited for."""


@dataclass(frozen=True, slots=True)
class CallOver:
    """Nobody is there any more."""


class CallerInput:
    """Hands what the caller enters to whoever asks: one at a time, and nobody once the call is over."""

    def __init__(self) -> None:
        self._asking: asyncio.Queue[Key | Words | AgentSpoke | CallOver] | None = None
        self._over = False
        # a key that may still end an entry which is whole, until so late by the loop's clock
        self._behind = ("", 0.0)

    @property
    def wanted(self) -> bool:
        """Whether somebody asks."""
        return self._asking is not None

    async def settled(self) -> None:
        """Whoever asks has taken all that came."""
        if self._asking is not None:
            await self._asking.join()

    def end(self) -> None:
        """The call is over: nothing more comes for whoever asks."""
        self._over = True
        self.take(CallOver())

    def take(self, happened: Key | Words | AgentSpoke | CallOver) -> bool:
        """The caller, or the agent, has done something; whether somebody asked for it."""
        if self._asking is not None:
            self._asking.put_nowait(happened)
        return self._asking is not None

    def press(self, digit: str) -> Pressed:
        """The caller pressed a key. Many end a number by `#`, also one whose length is known: they are not
        waited for, and what is asked next is not ended by it.
        """
        (finish, until_s), self._behind = self._behind, ("", 0.0)
        if digit == finish and asyncio.get_running_loop().time() < until_s:
            return Pressed.BEHIND
        return Pressed.TAKEN if self.take(Key(digit)) else Pressed.UNASKED

    async def digits(self, does: AgentDoes, prompt: str, entry: DigitEntry, timeout_s: float) -> str:
        """Ask for digits: what came, as figures. timeout_s: how long nothing may come.

        Raises ToolFailed, in words for the model.
        """
        with self._claim(does) as asking:
            if prompt:
                does.post(SpeechRequested(prompt))
            dictates = True  # each turn is, by what is still missing
            while not entry.complete:
                if dictates:
                    does.post(DictationBegan(entry.missing))
                dictates = False
                wait_s = PAUSE_S if entry.digits and entry.count is None else timeout_s
                try:
                    async with asyncio.timeout(wait_s):
                        happened = await asking.get()
                except TimeoutError:
                    if does.quiet:
                        entry.time_is_up()
                    continue
                asking.task_done()
                match happened:
                    case Key(digit):
                        entry.press(digit)
                        if entry.complete and digit != entry.finish:
                            self._behind = entry.finish, asyncio.get_running_loop().time() + PAUSE_S
                    case Words(text):
                        entry.say(text)
                        dictates = True
                    case CallOver():
                        raise ToolFailed(_OVER)
        return entry.result()

    @contextmanager
    def _claim(self, does: AgentDoes) -> Iterator[asyncio.Queue[Key | Words | AgentSpoke | CallOver]]:
        if self._over:
            raise ToolFailed(_OVER)
        if self._asking is not None:
            raise ToolFailed("not done: something else is asked of the caller at the moment")
        asking = self._asking = asyncio.Queue()
        does.post(TurnsClaimed(True))
        try:
            yield asking
        finally:
            self._asking = None
            while not asking.empty():
                if asking.get_nowait() == Key(self._behind[0]):  # it came before this was known to be whole
                    self._behind = "", 0.0
                asking.task_done()
            does.post(TurnsClaimed(False))
