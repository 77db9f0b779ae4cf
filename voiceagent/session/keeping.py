"""What a session tells whoever keeps or traces its call. Nothing here waits or raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from audio.pcm import Samples
from voiceagent.conversation.commands import Command
from voiceagent.conversation.events import Event
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport


class Keeping(Protocol):
    """Keeps or traces one call, told by its session; all on the event loop, many times a second."""

    def joined_trace(self, traceparent: str) -> None:
        """The call is part of its caller's trace, by W3C Trace Context's header; before anything else."""

    def traceparent(self, of: str) -> str:
        """That header for what is done for a response, by its id; "" where the call is not traced."""

    def tool_began(self, call_id: str) -> None:
        """What this task does from now on is the tool of that call."""

    def identified(self, line_call: str, parameters: Mapping[str, str]) -> None:
        """What a phone line told of the call, and the call's id there."""

    def took(
        self,
        event: Event,
        received_s: float,
        ids: Sequence[str],
        commands: Sequence[Command],
        fault: Exception | None = None,
    ) -> None:
        """The conversation took an event: the ids that it made, the commands that came out. received_s:
        seconds of the caller's sound received by then. fault: what it raised, which it never should.
        """

    def heard(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        """Handle the caller's next sound [n], as received. begins_ago_s: age of its beginning if it is
        silence in place of missing sound.
        """

    def sent(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        """A frame [n] of the agent's sound went to the client, as it will be heard."""

    def speaks(self) -> None:
        """The agent's sound goes out; told by a core whose commands, as they are kept, do not tell it."""

    def stopped(self, response_id: str, played_s: float) -> None:
        """The client was told to drop what it has not played; it had played `played_s` seconds of it."""

    def answered(self, report: TurnReport) -> None:
        """A response is over; where its time went."""

    def played(self, message: MessageItem) -> None:
        """No more of a message is played; its text is what the caller heard of it."""

    def ended(self, reason: str, history: Sequence[Item]) -> None:
        """The call is over; nothing is told after that. history: what was said and heard."""


class KeepsNothing:
    """Keeps nothing of a call; a subclass overrides what it keeps."""

    def joined_trace(self, traceparent: str) -> None:
        """Nothing."""

    def traceparent(self, of: str) -> str:
        """There is none."""
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
    """Nobody keeps, traces or follows the call: what only a log needs is not made."""


class KeptAndTraced:
    """Tells both, the trace first. Of sound, which comes a hundred times a second, only whoever keeps the
    call is told."""

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
        """See `Keeping`."""
        for told in self._both:
            told.took(event, received_s, ids, commands, fault)

    def speaks(self) -> None:
        """See `Keeping`."""
        for told in self._both:
            told.speaks()

    def answered(self, report: TurnReport) -> None:
        """See `Keeping`."""
        for told in self._both:
            told.answered(report)

    def ended(self, reason: str, history: Sequence[Item]) -> None:
        """See `Keeping`."""
        for told in self._both:
            told.ended(reason, history)


def kept_and_traced(kept: Keeping | None, traced: Keeping | None) -> Keeping | None:
    """Both as one, the one that there is, or None."""
    return kept or traced if kept is None or traced is None else KeptAndTraced(kept, traced)


class CallObserver(Protocol):
    """Is told that a call begins and ends. Nothing here waits or raises."""

    def began(self, agent: str, model: str, parameters: Mapping[str, str]) -> None:
        """The client is there. agent: name of the agent in code, "" for none. model: that was asked for.
        parameters: what a phone line told of the call.
        """

    def ended(self, reason: str, items: Sequence[Item]) -> None:
        """The call is over. items: what was said and heard."""
