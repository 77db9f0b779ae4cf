"""Queue of responses to request from the backend, one at a time."""

from __future__ import annotations

from collections import deque
from itertools import count

from voiceagent.conversation import commands as do
from voiceagent.upstream import messages
from voiceagent.upstream.messages import Event, Send, Wanted


class Asking:
    """Requests for responses that the backend has not begun."""

    def __init__(self) -> None:
        self._to_say: deque[Event] = deque()
        self._wished: Event | None = None  # the client's `response.create`
        self._owed = False  # an answer to the caller is due and was not requested
        self._leaving = ""
        self._asked: Event | None = None  # requested and not begun
        self._said: Event | None = None  # the last prescribed speech that was requested
        self._numbers = count(1)

    @property
    def awaited(self) -> bool:
        """True if a response was requested and has not begun."""
        return self._asked is not None

    def say(self, event: Event) -> None:
        """Queue speech that the agent's code prescribes."""
        self._to_say.append(event)

    def wish(self, event: Event) -> bool:
        """Queue a client's `response.create` until the backend connects. Return False if one is
        queued already.
        """
        if self._wished is not None:
            return False
        self._wished = event
        return True

    def owe(self) -> None:
        """Mark that the model must answer the last turn."""
        self._owed = True

    def leave(self, reason: str) -> None:
        """Hang up after the queued speech."""
        self._leaving = reason

    def ask(self, event: Event) -> list[Wanted]:
        """Request a response now."""
        self._asked = {"event_id": f"response_{next(self._numbers)}", **event}
        return [Send(self._asked)]

    def begun(self) -> None:
        """Clear the due answer and the request: the response that the backend began is the
        answer, whatever caused it.
        """
        self._owed, self._asked = False, None

    def refused(self, event_id: str | None, busy: bool) -> bool:
        """Handle an error for a request; return True if that request was queued again.

        event_id: of the request, if the backend names it. busy: the backend was already answering the caller
        when the request arrived.
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
        """Queue requests again after the backend was lost. unheard: a response had begun without audio."""
        self._owed = self._owed or unheard
        if self._asked is not None:
            self._to_say.appendleft(self._asked)
            self._asked = None

    def give_up(self, reason: str) -> None:
        """Clear the queue and hang up: no backend is available any more."""
        self._to_say.clear()
        self._owed, self._wished, self._leaving = False, None, reason

    def next(self, connected: bool, tools_run: bool) -> list[Wanted]:
        """Return the next request, now that neither side speaks. tools_run: the answer waits for
        tool results.
        """
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
