"""The API that a backend speaks. Pure.

Conversation, log and replay know one protocol, the Realtime API's. Another API is a translation to and from
its events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from voiceagent.upstream.messages import Event, Wait


class UpstreamApi(Protocol):
    """Translation for one call. Events named "ours" are those of the Realtime API.

    full_duplex: the backend decides itself when to speak, so that results are sent at once, even during
    speech. max_ahead_s: most seconds of audio that it may send before they are played.
    """

    full_duplex: bool
    max_ahead_s: float

    def opening(self, update: Event, items: Sequence[Event]) -> list[Event]:
        """Return the first events of a connection. update, items: settings and history, as ours."""

    def outgoing(self, event: Event) -> list[Event | Wait]:
        """Return the backend's form of one of our events."""

    def ignores(self, event: Event) -> bool:
        """Return True for audio of the backend without effect: a stream of silence."""

    def incoming(self, event: Event) -> list[Event | Wait]:
        """Return our form of a backend's event. Raise KeyError, TypeError, ValueError if it is invalid."""

    def waited(self, name: str) -> list[Event | Wait]:
        """Return our events for the end of a `Wait`."""

    def lost(self) -> list[Event | Wait]:
        """Return our events for the loss of the connection."""

    def refusal(self, event: Event) -> str | None:
        """Return the reason why the backend cannot carry out one of our events; None if it can."""


class RealtimeApi:
    """The Realtime API, without translation."""

    full_duplex = False
    max_ahead_s = 300.0
    """A response is sent as it is generated. The longest of OpenAI's has 4,096 tokens, about 205 s."""

    def opening(self, update: Event, items: Sequence[Event]) -> list[Event]:
        """Return the settings, then the history."""
        return [update, *items]

    def outgoing(self, event: Event) -> list[Event | Wait]:
        return [event]

    def ignores(self, event: Event) -> bool:
        """Return False."""
        return False

    def incoming(self, event: Event) -> list[Event | Wait]:
        return [event]

    def waited(self, name: str) -> list[Event | Wait]:
        """Return no events: there are no waits."""
        return []

    def lost(self) -> list[Event | Wait]:
        return []

    def refusal(self, event: Event) -> str | None:
        return None
