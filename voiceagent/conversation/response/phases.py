"""One response of the agent, and the phases that it goes through.

Preemptive ──▶ Generating ──▶ Playing ──▶ Sent ──▶ Over
    │              └─────────────┴──────────┴──▶ Stopping ──▶ Over
    └▶ dropped

A text is over as soon as it is generated or cut: it has no sound that would have to be sent or stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from llmcore.engine import FinishReason, Usage
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

MadeEvent = (
    FragmentReady | SpeechReady | FragmentSpoken | ToolCallsReady | ResponseWritten | ResponseGenerated
)
"""What the making of a response brings."""


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of the generation. finish_reason: None while it runs. failure: the stage that failed, "" for
    none. refused: a filter refused the answer. opaque: data of the LLM server to return with its words.
    """

    finish_reason: FinishReason | None = None
    usage: Usage = field(default_factory=Usage)
    failure: str = ""
    refused: bool = False
    opaque: str = ""


@dataclass(frozen=True, slots=True)
class Preemptive:
    """The turn that it answers may not be over: nobody knows of it, and what it makes is held.

    words: those of the caller that it was made for, normalised.
    """

    words: tuple[str, ...]
    held: tuple[MadeEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Generating:
    """It is the response: what is made of it is played at once. After a failure, that is the apology."""

    result: Result = field(default_factory=Result)


@dataclass(frozen=True, slots=True)
class Playing:
    """All of it is made, and not all of its sound is sent."""

    result: Result


@dataclass(frozen=True, slots=True)
class Sent:
    """All its sound is sent, for the client it has ended; the caller still listens to it."""

    result: Result


@dataclass(frozen=True, slots=True)
class Stopping:
    """It was cut, and its playout is being stopped.

    reported_played_s: how much was played, as the client has it. notified: for the client it had ended
    before.
    """

    result: Result
    reason: str
    reported_played_s: float | None
    notified: bool


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing of it remains. played: its words that were; stop_reason: "" where it was not cut."""

    played: str
    stop_reason: str
    usage: Usage


Phase = Preemptive | Generating | Playing | Sent | Stopping | Over


@dataclass(slots=True)
class Response:
    """One response, from its request until it is played or cut.

    `CurrentResponse` changes it. start: the command that started it. wanted: the request for it. joined: it
    is an item of the history. called_tools: it called tools. first_call_id: the item of its first call, which
    its words precede; "" for none. refused_calls: it made calls although it must make none, and they were
    dropped. written: its full text once the LLM has finished it, None before.
    """

    start: StartResponse
    wanted: ResponseRequested
    item_id: str
    played: PlayedText
    phase: Phase
    joined: bool = False
    called_tools: bool = False
    first_call_id: str = field(default="", init=False)
    refused_calls: bool = field(default=False, init=False)
    written: str | None = field(default=None, init=False)

    @property
    def response_id(self) -> str:
        """The id that everything it produces carries."""
        return self.start.response_id

    @property
    def spoken(self) -> bool:
        """Whether it is listened to rather than read."""
        return self.start.modality == "audio"

    @property
    def end_notified(self) -> bool:
        """Whether it has ended for the client, though the caller may still listen."""
        return isinstance(self.phase, Sent) or (isinstance(self.phase, Stopping) and self.phase.notified)

    @property
    def whole_text(self) -> str | None:
        """The full text that is spoken if the response is not cut; None while the LLM may add to it."""
        match self.phase:
            case Playing() | Sent():
                return self.played.text
            case Generating(Result(failure="")):
                return self.written
        return None

    @property
    def is_ready(self) -> bool:
        """Whether there is something to hear of it, or it does something, or has come to its end."""
        if not isinstance(self.phase, Preemptive):
            return True
        first = (SpeechReady if self.spoken else FragmentReady, ToolCallsReady, ResponseGenerated)
        return any(isinstance(event, first) for event in self.phase.held)

    def was_made_for(self, item_id: str, words: tuple[str, ...]) -> bool:
        """Whether it is a preemptive response to this turn with these words."""
        return (
            isinstance(self.phase, Preemptive) and self.start.turn_id == item_id and self.phase.words == words
        )
