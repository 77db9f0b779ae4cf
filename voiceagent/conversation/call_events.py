"""Events of a call for its subscribers: recorder, trace, supervisor, webhooks.

Unlike `events`, which the conversation handles, these report what the call has done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from voiceagent.conversation.causes import CallEndCode
from voiceagent.conversation.commands import Command
from voiceagent.conversation.events import Event
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport


@dataclass(frozen=True, slots=True)
class CallIdentified:
    """The metadata of a call is known. line_call: the telephony provider's call id."""

    line_call: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CallBegan:
    """The client is connected. agent: name of the agent in code, "" for none. model: as requested."""

    agent: str
    model: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EventHandled:
    """The conversation handled an event. ids: created while handling it. commands: produced by it.

    received_s: seconds of the caller's audio received by then. fault: exception of the conversation.
    """

    event: Event
    received_s: float
    ids: Sequence[str]
    commands: Sequence[Command]
    fault: Exception | None = None


@dataclass(frozen=True, slots=True)
class AudioStarted:
    """Audio of a response is sent to the client. Only of upstream calls, whose commands lack `Play`."""

    response_id: str


BACKGROUND = "background"
"""Name, in place of a response's id, of output audio that is no speech: music on hold, typing."""


@dataclass(frozen=True, slots=True)
class ResponseStopped:
    """The client was told to drop unplayed audio of a response, of which it has played `played_s` seconds.
    dropped_s: audio that it dropped, with background sounds; None if there were no such sounds.
    """

    response_id: str
    played_s: float
    dropped_s: float | None = None


@dataclass(frozen=True, slots=True)
class MessagePlayed:
    """The playout of a message is over; its text is the played part."""

    message: MessageItem


@dataclass(frozen=True, slots=True)
class ResponseDone:
    """A response is over for its client. report: its stages."""

    report: TurnReport


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The call is over; the last event. history: the final conversation. end_code: reason for programs."""

    reason: str
    history: Sequence[Item]
    end_code: CallEndCode = ""


CallEvent = (
    CallIdentified
    | CallBegan
    | EventHandled
    | AudioStarted
    | ResponseStopped
    | MessagePlayed
    | ResponseDone
    | CallEnded
)


class CallSubscriber(Protocol):
    """Receives the events of one call, on its event loop."""

    def on_event(self, event: CallEvent) -> None:
        """Handle an event without blocking.

        Slow work belongs behind a bounded queue that drops and counts what it has no room for. A subscriber
        that raises receives no further events of the call.
        """
