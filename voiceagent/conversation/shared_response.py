"""Responses that call tools of the agent and of the client: one response answers the results of both."""

from __future__ import annotations

from collections.abc import Iterable


class SharedResponse:
    """The last response that called tools of the client, and those of its calls for which the results of the
    agent's own tools wait.
    """

    def __init__(self) -> None:
        self.response_id = ""
        self._new: list[str] = []
        self._awaited: set[str] = set()

    @property
    def awaits_client(self) -> bool:
        """True while the results of the agent's tools wait for the client."""
        return bool(self._awaited)

    def add(self, response_id: str, call_id: str) -> None:
        """Record a call of the client's tool."""
        if response_id != self.response_id:
            self.response_id, self._new = response_id, []
        self._new.append(call_id)

    def begin_wait(self, response_id: str) -> Iterable[str]:
        """Wait for the client's calls of this response, which called tools of the agent too. Return the new
        ones.
        """
        if response_id != self.response_id:
            return []
        new, self._new = self._new, []
        self._awaited.update(new)
        return new

    def give_up(self, call_id: str) -> None:
        """Wait no longer for a call, if it is one of these."""
        self._awaited.discard(call_id)

    def end_wait(self) -> None:
        """Wait for none, as another response reports the results so far."""
        self._awaited.clear()
