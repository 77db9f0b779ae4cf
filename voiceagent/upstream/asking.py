"""Which response of the conversation an upstream is asked for next: one at a time. Pure."""

from __future__ import annotations

from collections import deque
from itertools import count

from voiceagent.conversation import commands as do
from voiceagent.upstream import messages
from voiceagent.upstream.messages import Event, Send, Wanted


class Asking:
    """Keeps what is wanted of the upstream, and not begun yet."""

    def __init__(self) -> None:
        self._to_say: deque[Event] = deque()
        self._wished: Event | None = None  # by the client, in its own words
        self._owed = False  # an answer, which nobody has asked for yet
        self._leaving = ""
        self._asked: Event | None = None  # for one that has not begun
        self._said: Event | None = None  # the last that was to be said and was asked for
        self._numbers = count(1)

    @property
    def awaited(self) -> bool:
        """Whether one was asked for that has not begun."""
        return self._asked is not None

    def say(self, event: Event) -> None:
        """The agent's code has something said."""
        self._to_say.append(event)

    def wish(self, event: Event) -> bool:
        """The client has a wish while there is no upstream. Returns whether it can wait: one wish can, a
        second cannot."""
        if self._wished is not None:
            return False
        self._wished = event
        return True

    def owe(self) -> None:
        """The model is to answer."""
        self._owed = True

    def leave(self, reason: str) -> None:
        """The call ends behind what is to be said."""
        self._leaving = reason

    def ask(self, event: Event) -> list[Wanted]:
        """Ask for a response now."""
        self._asked = {"event_id": f"response_{next(self._numbers)}", **event}
        return [Send(self._asked)]

    def begun(self) -> None:
        """The upstream begins one: it is the answer, whoever asked for it."""
        self._owed, self._asked = False, None

    def refused(self, event_id: str | None, busy: bool) -> bool:
        """The upstream does not do what an event asks for, where it says which; returns whether that is asked
        for again. busy: it is answering the caller already, and began before it was asked.
        """
        said, asked = self._said, self._asked
        if asked is not None and event_id in (None, asked["event_id"]):
            self._asked = None
        if said is None or not busy or event_id != said["event_id"]:
            return False
        self._said = None
        self._to_say.appendleft(said)
        return True

    def lost(self, unheard: bool) -> None:
        """The upstream has gone: what it was asked for is asked for again. unheard: nothing came of one that
        it had begun.
        """
        self._owed = self._owed or unheard
        if self._asked is not None:
            self._to_say.appendleft(self._asked)
            self._asked = None

    def give_up(self, reason: str) -> None:
        """No upstream comes any more."""
        self._to_say.clear()
        self._owed, self._wished, self._leaving = False, None, reason

    def next(self, connected: bool, tools_run: bool) -> list[Wanted]:
        """Nobody speaks: what waited for that. tools_run: an answer waits for what they give."""
        if self._to_say and connected:
            asked = self.ask(self._to_say.popleft())
            self._said = self._asked
            return asked
        if self._leaving and not self._to_say:
            return [do.HangUp(self._leaving)]
        if self._wished is not None and connected:
            wished, self._wished, self._owed = self._wished, None, False
            return self.ask(wished)
        if self._owed and connected and not tools_run:
            self._owed = False
            return self.ask(messages.response_created())
        return []
