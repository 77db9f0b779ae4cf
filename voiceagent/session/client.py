"""The far end of a call, as the session sees it."""

from __future__ import annotations

from typing import Protocol

from audio.pcm import Samples
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.notifications import Notification


class Client(Protocol):
    """What a transport does for the session. Nothing here waits: what cannot be sent at once is queued by
    the transport.

    A client that does not read fills the transport's bounded queue; the transport then ends the call.
    """

    def notify(self, notification: Notification) -> None:
        """Tell the client something."""

    def play(self, response_id: str, frame: Samples) -> None:
        """Send 20 ms of the agent's sound, int16 mono at the rate of the call's output format."""

    def clear(self) -> None:
        """Drop the agent's sound that the client has been sent but has not played, where the wire can."""

    def report(self, turn: TurnReport) -> None:
        """Tell the stages of a turn, if the client asked for them."""
