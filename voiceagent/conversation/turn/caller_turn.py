"""One turn of the caller: its phase and transcript."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum, auto

from voiceagent.conversation.causes import TurnEndCode
from voiceagent.conversation.end_of_turn.probability import EndpointingRule
from voiceagent.conversation.turn.own_voice import Overlap
from voiceagent.conversation.turn.proximity import SpeakerProximity
from voiceagent.conversation.words import words_of

WITHHELD = "(private)"
"""Stands for the words of private turns, see `TurnsClaimed`."""


@dataclass(frozen=True, slots=True)
class Speaking:
    """The caller is speaking."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The caller is pausing; at_s: the last voiced sample.

    probability: the turn model's for this pause, None until known. rule: that set its endpointing delay, ""
    until one has.
    """

    at_s: float
    probability: float | None = None
    rule: EndpointingRule = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a turn. at_s: last voiced sample. sound_end_s: end of the item's audio, including the
    silence that ended the turn; None if that silence is not part of it. code: the rule that ended it.
    """

    at_s: float
    sound_end_s: float | None = None
    code: TurnEndCode = ""


Phase = Speaking | Paused | Ended


class TurnVisibility(Enum):
    """The client's knowledge of a turn."""

    CANDIDATE = auto()
    """Unknown to the client: a voice over the agent that may be no interruption."""
    ANNOUNCED = auto()
    """The client was notified of its start."""
    COMMITTED = auto()
    """The client was notified of its end: it is an item of the conversation."""


class VoiceLength(Enum):
    """Class of a voice over the agent by its length without a break."""

    BRIEF = auto()
    CANDIDATE = auto()
    """Long enough to hold the playout and listen."""
    CONFIRMED = auto()
    """Long enough to be an interruption."""


@dataclass(frozen=True, slots=True)
class AnswerSoFar:
    """State, in a pause, of the preemptive response to the turn. awaited: it was started and has no audio
    yet. acts: it runs a tool with effects once the turn is over.
    """

    awaited: bool
    acts: bool


@dataclass(frozen=True, slots=True)
class RecognitionState:
    """Recognition state of a turn.

    stable: the part of `text` that will not change. before: the hypothesis before `text`. confidence,
    complete: see `Hypothesis`. flushes: number of unanswered flushes. failure: reason of a failure. ends: the
    LLM's end-of-turn score of `text`, see `TurnEndScored`; None until known.
    """

    text: str = ""
    before: str = ""
    stable: str = ""
    confidence: float | None = None
    complete: float | None = None
    flushes: int = 0
    failure: str | None = None
    ends: float | None = None


@dataclass(slots=True)
class CallerTurn:
    """One turn of the caller, from its first voiced sample until its final transcript. `Caller` changes it.

    respond: its end requests a response. resumes: the earlier turn that it continues, which was answered
    too early. dictation: digits that a dictated number may have, empty for a name or the like, None
    without dictation. not_before_s: see `StartRecognition`. typed: text before the audio, of an item that
    the client created. by_hand: its audio is a buffer that the client commits; it may be silent. private:
    its words are for the agent's code alone. notified: stable text sent to the client. own_pauses_s:
    pauses after which the caller continued, in seconds. length, proximity: for a voice over the agent,
    its class by length and by loudness. level_db: level in dBFS, None if unknown: of the whole voice once
    the turn is over; before that, over the agent, of its loudest window. overlap: the response that was
    played when it began, or shortly before. acts_after_s: time from its end to its answer's first call
    with effects, in seconds at least.
    """

    item_id: str
    started_at_s: float
    respond: bool = True
    resumes: CallerTurn | None = None
    dictation: tuple[int, ...] | None = None
    phase: Phase = Speaking()
    visibility: TurnVisibility = TurnVisibility.CANDIDATE
    recognition: RecognitionState = RecognitionState()
    not_before_s: float = field(default=0.0, init=False)
    typed: str = field(default="", init=False)
    by_hand: bool = field(default=False, init=False)
    private: bool = field(default=False, init=False)
    notified: str = field(default="", init=False)
    own_pauses_s: tuple[float, ...] = field(default=(), init=False)
    length: VoiceLength = field(default=VoiceLength.BRIEF, init=False)
    proximity: SpeakerProximity = field(default=SpeakerProximity.NEAR, init=False)
    level_db: float | None = field(default=None, init=False)
    overlap: Overlap | None = field(default=None, init=False)
    acts_after_s: float = field(default=0.0, init=False)

    @property
    def shown_text(self) -> str:
        """The transcript for history and client."""
        return WITHHELD if self.private and self.text else self.text

    @property
    def announced(self) -> bool:
        """True if the client knows the turn."""
        return self.visibility is not TurnVisibility.CANDIDATE

    @property
    def speaking(self) -> bool:
        """True if the caller is speaking: neither pause nor end."""
        return isinstance(self.phase, Speaking)

    @property
    def ended(self) -> bool:
        """True if the turn is over."""
        return isinstance(self.phase, Ended)

    @property
    def end_code(self) -> TurnEndCode:
        """The rule that ended the turn, "" until it is over."""
        return self.phase.code if isinstance(self.phase, Ended) else ""

    @property
    def settled(self) -> bool:
        """True if the transcript covers all voiced audio, or will not get better."""
        known = self.recognition.failure is not None or self.recognition.flushes == 0
        return known and not self.speaking

    @property
    def text(self) -> str:
        """The transcript."""
        return self.recognition.text

    @property
    def whole_text(self) -> str:
        """The transcript of the turn that it resumes, followed by its own."""
        return f"{self.resumes.whole_text} {self.text}" if self.resumes else self.text

    @property
    def whole_words(self) -> tuple[str, ...]:
        """The words of `whole_text`, which a response to the turn answers."""
        return words_of(self.whole_text)

    @property
    def pauses_s(self) -> tuple[float, ...]:
        """Pauses after which the caller continued, in seconds, including one that was taken for the end."""
        if self.resumes is None:
            return self.own_pauses_s
        return (*self.resumes.pauses_s, self.started_at_s - self.resumes.end_s, *self.own_pauses_s)

    @property
    def voiced_s(self) -> float:
        """Seconds from its first voiced sample to the last before the pause; infinite during speech."""
        return math.inf if isinstance(self.phase, Speaking) else self.phase.at_s - self.started_at_s

    @property
    def end_s(self) -> float:
        """Position of its last voiced sample; until it ends, its beginning."""
        return self.phase.at_s if isinstance(self.phase, Ended) else self.started_at_s

    @property
    def sound_end_s(self) -> float:
        """End of its item's audio; until the turn ends, its beginning."""
        if isinstance(self.phase, Ended) and self.phase.sound_end_s is not None:
            return self.phase.sound_end_s
        return self.end_s
