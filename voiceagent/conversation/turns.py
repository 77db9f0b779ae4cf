"""What the conversation remembers of the caller's turn and of the response in progress."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from llmcore.engine import FinishReason, ToolCall, Usage
from voiceagent.conversation.commands import StartResponse
from voiceagent.conversation.events import (
    FragmentReady,
    FragmentSpoken,
    ResponseGenerated,
    SpeechReady,
    ToolCallsReady,
)
from voiceagent.conversation.played_text import PlayedText
from voiceagent.conversation.words import words_of

HeldEvent = FragmentReady | SpeechReady | FragmentSpoken | ToolCallsReady | ResponseGenerated


@dataclass(slots=True)
class CallerTurn:
    """One turn of the caller, from its first voiced sample until its words are settled.

    announced: the client knows of it; a voice over the agent is not announced until it is an interruption.
    paused_at_s: last voiced sample before the pause in progress, None while the caller speaks; probability:
    the turn model's word on that pause; falls: whether the voice fell before it, None until that is known.
    settled: `text` covers all that was voiced up to the pause; `stable` is the part of it that will not be
    taken back; confidence: of the recognizer in `text`, None where it does not tell.
    told, read: the stable words that the client, and the LLM, know already. flushes: flushes not yet
    answered. ended_at_s: last voiced sample, once the turn is over. respond: a response is wanted when it is
    settled. resumes: the turn that it goes on with, which was answered too early.
    """

    item_id: str
    started_at_s: float
    announced: bool = False
    paused_at_s: float | None = None
    settled: bool = False
    probability: float | None = None
    falls: bool | None = None
    ended_at_s: float | None = None
    respond: bool = True
    text: str = ""
    stable: str = ""
    confidence: float | None = None
    told: str = ""
    read: str = ""
    failure: str | None = None
    preemptive_attempts: int = 0
    flushes: int = 0
    resumes: CallerTurn | None = None

    @property
    def whole_text(self) -> str:
        """Its words behind those of the turn that it resumes."""
        return f"{self.resumes.whole_text} {self.text}" if self.resumes else self.text

    @property
    def paused(self) -> bool:
        """Whether the caller is silent for the moment, or for good."""
        return self.paused_at_s is not None

    @property
    def voiced_s(self) -> float:
        """From its first voiced sample to its last before the pause; infinite while the caller speaks."""
        return math.inf if self.paused_at_s is None else self.paused_at_s - self.started_at_s

    @property
    def end_s(self) -> float:
        """Its last voiced sample; its beginning while it goes on."""
        return self.started_at_s if self.ended_at_s is None else self.ended_at_s


@dataclass(slots=True)
class Response:
    """One response, from its request until the caller has heard it or it was cut.

    preemptive: the turn it answers is not over; what it makes is kept in `held`.
    answers: the normalised words it was made for. told_end: the client was told that it ended.
    stopping: its playout is being stopped, for `stop_reason`; reported_heard_s: the client says that so
    much was heard.
    said: what was heard of it, once it is over.
    """

    made_by: StartResponse
    item_id: str
    heard: PlayedText
    turn_id: str | None = None
    answers: tuple[str, ...] = ()
    preemptive: bool = False
    interruptible: bool = True
    in_conversation: bool = True
    metadata: dict[str, str] = field(default_factory=dict)
    held: list[HeldEvent] = field(default_factory=list)
    in_history: bool = False
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason | None = None
    usage: Usage = field(default_factory=Usage)
    failure: str = ""
    told_end: bool = False
    stopping: bool = False
    stop_reason: str = ""
    reported_heard_s: float | None = None
    said: str = ""

    @property
    def response_id(self) -> str:
        """The id that everything it produces carries."""
        return self.made_by.response_id

    @property
    def spoken(self) -> bool:
        """Whether it is heard rather than read."""
        return self.made_by.modality == "audio"

    def fits(self, text: str) -> bool:
        """Whether it was made for these words."""
        return self.answers == words_of(text)
