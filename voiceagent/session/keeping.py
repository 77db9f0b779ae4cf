"""Subscriber interface for a call's events (recorder, tracer). Methods must not block or raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from audio.pcm import Samples
from voiceagent.conversation.commands import Command
from voiceagent.conversation.events import Event
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport


class Keeping(Protocol):
    """Subscriber of one call. Called on the event loop, many times a second."""

    def joined_trace(self, traceparent: str) -> None:
        """Make the call part of its caller's trace, by a W3C Trace Context header. Called first."""

    def traceparent(self, of: str) -> str:
        """Return that header for work on a response, by its id; "" if the call is not traced."""

    def tool_began(self, call_id: str) -> None:
        """Attribute the current task's further work to the tool of that call."""

    def identified(self, line_call: str, parameters: Mapping[str, str]) -> None:
        """Record the metadata of a telephony provider, and its call id."""

    def took(
        self,
        event: Event,
        received_s: float,
        ids: Sequence[str],
        commands: Sequence[Command],
        fault: Exception | None = None,
    ) -> None:
        """Record an event that the conversation handled. ids: ids created while handling it. commands:
        commands it produced. received_s: seconds of the caller's audio received by then. fault: exception
        that it raised, which is a bug.
        """

    def heard(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        """Record the caller's next audio [n], as received. begins_ago_s: age of its beginning if it is
        silence in place of missing audio.
        """

    def sent(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        """Record a frame [n] of the agent's audio as sent to the client."""

    def speaks(self) -> None:
        """Record that the agent's audio goes out. For calls whose recorded commands do not show it."""

    def stopped(self, response_id: str, played_s: float) -> None:
        """Record that the client was instructed to drop unplayed audio, after `played_s` seconds of the
        response.
        """

    def answered(self, report: TurnReport) -> None:
        """Record the report of a response that is over."""

    def played(self, message: MessageItem) -> None:
        """Record a message that is over; its text is the part that was played."""

    def ended(self, reason: str, history: Sequence[Item]) -> None:
        """Record the end of the call; the last notification. history: what was said and played."""


class KeepsNothing:
    """Subscriber that ignores everything; a subclass overrides what it records."""

    def joined_trace(self, traceparent: str) -> None:
        """Nothing."""

    def traceparent(self, of: str) -> str:
        """Return "": the call is not traced."""
        return ""

    def tool_began(self, call_id: str) -> None:
        """Nothing."""

    def identified(self, line_call: str, parameters: Mapping[str, str]) -> None:
        """Nothing."""

    def took(
        self,
        event: Event,
        received_s: float,
        ids: Sequence[str],
        commands: Sequence[Command],
        fault: Exception | None = None,
    ) -> None:
        """Nothing."""

    def heard(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        """Nothing."""

    def sent(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        """Nothing."""

    def speaks(self) -> None:
        """Nothing."""

    def stopped(self, response_id: str, played_s: float) -> None:
        """Nothing."""

    def answered(self, report: TurnReport) -> None:
        """Nothing."""

    def played(self, message: MessageItem) -> None:
        """Nothing."""

    def ended(self, reason: str, history: Sequence[Item]) -> None:
        """Nothing."""


class NotKept(KeepsNothing):
    """Marks a call without subscribers, for which data of logs only is not made."""


class RecorderAndTracer:
    """Notifies a tracer and a recorder, in this order. Audio, which arrives a hundred times a second, goes
    to the recorder only.
    """

    def __init__(self, kept: Keeping, traced: Keeping) -> None:
        self._both = traced, kept
        self.heard, self.sent, self.stopped, self.played = kept.heard, kept.sent, kept.stopped, kept.played
        self.joined_trace, self.traceparent = traced.joined_trace, traced.traceparent
        self.tool_began, self.identified = traced.tool_began, kept.identified

    def took(
        self,
        event: Event,
        received_s: float,
        ids: Sequence[str],
        commands: Sequence[Command],
        fault: Exception | None = None,
    ) -> None:
        for told in self._both:
            told.took(event, received_s, ids, commands, fault)

    def speaks(self) -> None:
        for told in self._both:
            told.speaks()

    def answered(self, report: TurnReport) -> None:
        for told in self._both:
            told.answered(report)

    def ended(self, reason: str, history: Sequence[Item]) -> None:
        for told in self._both:
            told.ended(reason, history)


def kept_and_traced(kept: Keeping | None, traced: Keeping | None) -> Keeping | None:
    """Return both subscribers as one, the only one, or None."""
    return kept or traced if kept is None or traced is None else RecorderAndTracer(kept, traced)


class CallObserver(Protocol):
    """Subscriber of the start and end of calls. Methods must not block or raise."""

    def began(self, agent: str, model: str, parameters: Mapping[str, str]) -> None:
        """Handle the start of a call. agent: name of the agent in code, "" for none. model: the requested
        one. parameters: metadata of a telephony provider.
        """

    def ended(self, reason: str, items: Sequence[Item]) -> None:
        """Handle the end of a call. items: what was said and played."""
