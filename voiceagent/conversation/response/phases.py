"""One response of the agent and its phases.

Preemptive ──▶ Generating ──▶ Playing ──▶ Sent ──▶ Over
    │              └─────────────┴──────────┴──▶ Stopping ──▶ Over
    └▶ dropped

A text response is over once it is generated or cut: it has no audio to send or stop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from llmcore.engine import FinishReason, ToolCall, Usage
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import BARGE_IN, InterruptedBy
from voiceagent.conversation.commands import StartResponse
from voiceagent.conversation.events import (
    FragmentReady,
    FragmentSpoken,
    ResponseGenerated,
    ResponseRequested,
    ResponseWritten,
    SpeechReady,
    ToolCallsReady,
)
from voiceagent.conversation.response.played_text import PlayedText

OutputEvent = (
    FragmentReady | SpeechReady | FragmentSpoken | ToolCallsReady | ResponseWritten | ResponseGenerated
)
"""Events of a response's generation."""


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of the generation. finish_reason: None while it runs. failure: the stage that failed, "" for
    none. refused: a filter refused the answer. opaque: data of the LLM server to return with its text.
    """

    finish_reason: FinishReason | None = None
    usage: Usage = field(default_factory=Usage)
    failure: str = ""
    refused: bool = False
    opaque: str = ""


@dataclass(frozen=True, slots=True)
class Preemptive:
    """The answered turn may not be over: the client does not know the response, and its output is held.

    words: the caller's words that it answers, normalised.
    """

    words: tuple[str, ...]
    held: tuple[OutputEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Generating:
    """The response is active: its output is played at once. After a failure, that is the apology."""

    result: Result = field(default_factory=Result)


@dataclass(frozen=True, slots=True)
class Playing:
    """Fully generated; audio remains to be sent."""

    result: Result


@dataclass(frozen=True, slots=True)
class Sent:
    """All audio is sent, and the client was notified of the end; the caller still listens."""

    result: Result


@dataclass(frozen=True, slots=True)
class Stopping:
    """The response was cut, and its playout is stopping.

    reported_played_s: seconds played, as the client reported. notified: the client had been notified of its
    end before.
    """

    result: Result
    interrupted_by: InterruptedBy
    reported_played_s: float | None
    notified: bool


@dataclass(frozen=True, slots=True)
class Over:
    """The response is over. played: the part of its text that was played. interrupted_by: "" unless it was
    cut. failed: its generation failed.
    """

    played: str
    interrupted_by: InterruptedBy
    usage: Usage
    failed: bool = False


Phase = Preemptive | Generating | Playing | Sent | Stopping | Over


@dataclass(slots=True)
class Response:
    """One response, from its request until it is played or cut.

    `CurrentResponse` changes it. start: the command that started it. wanted: the request for it. joined: it
    is an item of the history. tool_calls: number of its tool calls. first_call_id: the item of its first
    call, which its text precedes; "" for none. refused_calls: it made calls although it must make none, and
    they were dropped. holds_calls: it must not make calls with effects yet (`HoldCalls`). held_output: output
    from the first of these on. written: its full text once the LLM has finished it, None before. is_clip: it
    is audio of the client (`ClipRequested`).
    """

    start: StartResponse
    wanted: ResponseRequested
    item_id: str
    played: PlayedText
    phase: Phase
    joined: bool = False
    is_clip: bool = False
    tool_calls: int = 0
    first_call_id: str = field(default="", init=False)
    refused_calls: bool = field(default=False, init=False)
    holds_calls: bool = field(default=False, init=False)
    held_output: tuple[OutputEvent, ...] = field(default=(), init=False)
    written: str | None = field(default=None, init=False)

    @property
    def response_id(self) -> str:
        """The id that all its events carry."""
        return self.start.response_id

    @property
    def spoken(self) -> bool:
        """True if it is audio, not text."""
        return self.start.modality == "audio"

    @property
    def end_notified(self) -> bool:
        """True if the client was notified of its end, though the caller may still listen."""
        return isinstance(self.phase, Sent) or (isinstance(self.phase, Stopping) and self.phase.notified)

    @property
    def own_text(self) -> str | None:
        """The LLM's full text, which is spoken if the response is not cut; None while it may grow."""
        match self.phase:
            case Playing() | Sent():
                return self.played.own_text
            case Generating(Result(failure="")):
                return self.written
        return None

    @property
    def is_ready(self) -> bool:
        """True if it has audio (or text), called tools, or ended."""
        if not isinstance(self.phase, Preemptive):
            return True
        first = (SpeechReady if self.spoken else FragmentReady, ToolCallsReady, ResponseGenerated)
        return any(isinstance(event, first) for event in self.phase.held)

    @property
    def held_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of a preemptive response, which are made when it is released."""
        held = self.phase.held if isinstance(self.phase, Preemptive) else ()
        return tuple(call for event in held if isinstance(event, ToolCallsReady) for call in event.calls)

    def answers_turn(self, item_id: str, words: tuple[str, ...]) -> bool:
        """Return True if it is a preemptive response to this turn with these words."""
        return (
            isinstance(self.phase, Preemptive) and self.start.turn_id == item_id and self.phase.words == words
        )

    def start_notification(self) -> notify.NotifyResponseStarted:
        start, wanted = self.start, self.wanted
        return notify.NotifyResponseStarted(
            start.response_id,
            start.modality,
            wanted.max_output_tokens,
            wanted.in_conversation,
            wanted.metadata,
            start.out_of_band,
            start.voice,
        )

    def end_notification(
        self, result: Result, cut: Stopping | None = None
    ) -> notify.NotifyResponseEnded | notify.NotifyClipEnded:
        """Return the notification of the end, in OpenAI's terms. cut: how it was stopped, if it was."""
        if self.is_clip:
            return notify.NotifyClipEnded(self.response_id, completed=cut is None)
        status: notify.ResponseStatus = "completed"
        reason = ""
        interrupted_by: InterruptedBy = ""
        if result.refused:
            status, reason = "incomplete", "content_filter"
        elif result.failure:
            status, reason = "failed", result.failure
        elif cut is not None:
            interrupted_by = cut.interrupted_by
            status = "cancelled"
            reason = "turn_detected" if interrupted_by in BARGE_IN else "client_cancelled"
        elif result.finish_reason == "length":
            status, reason = "incomplete", "max_output_tokens"
        false_end, out_of_band = self.played.false_end, self.start.out_of_band
        return notify.NotifyResponseEnded(
            self.response_id, status, reason, result.usage, false_end, out_of_band, interrupted_by
        )
