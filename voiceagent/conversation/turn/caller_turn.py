"""One turn of the caller: where it stands, and what it is understood to say."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum, auto

from voiceagent.conversation.turn.nearness import Nearness


@dataclass(frozen=True, slots=True)
class Speaking:
    """The caller speaks."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The caller is silent for the moment; at_s: the last voiced sample.

    probability: the turn model's word on this pause, None until that is known.
    """

    at_s: float
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a turn. at_s: last voiced sample. sound_end_s: end of the item's sound, including the
    silence that ended the turn; None if that silence is not part of it.
    """

    at_s: float
    sound_end_s: float | None = None


Phase = Speaking | Paused | Ended


class Standing(Enum):
    """What the client knows of a turn."""

    CANDIDATE = auto()
    """Nothing: it is a voice over the agent, which may be no interruption."""
    ANNOUNCED = auto()
    """The client knows that it has begun."""
    COMMITTED = auto()
    """The client knows that it is over: it is an item of the conversation."""


class Length(Enum):
    """What a voice over the agent is by its length, without a break."""

    BRIEF = auto()
    CANDIDATE = auto()
    """Long enough for a speaker to hold on and listen."""
    CONFIRMED = auto()
    """Long enough to be meant as an interruption."""


@dataclass(frozen=True, slots=True)
class Recognized:
    """What the recognizer has made of a turn.

    stable: the part of `text` that will not be taken back. before: what it made of the turn before it came to
    `text`. confidence, complete: as `Hypothesis` has them of `text`. flushes: those that it has not answered.
    failure: why nothing more will come. ends: the LLM's word on whether the turn ends with `text`, as
    `TurnEndTold` has it; None until that is known.
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

    respond: its end requests a response. resumes: the earlier turn that it continues, which was answered too
    early. dictation: digits that a dictated number may have, empty for a name or the like, None without
    dictation. not_before_s: see `StartRecognition`. typed: text before the sound, of an item that the client
    created. notified: stable words sent to the client. own_pauses_s: pauses after which the caller went on,
    in seconds. length, nearness: for a voice over the agent, its kind by length and its speaker by loudness.
    level_db: level in dBFS, None if unknown: of the whole voice once the turn is over; before that, over the
    agent, of its loudest window.
    """

    item_id: str
    started_at_s: float
    respond: bool = True
    resumes: CallerTurn | None = None
    dictation: tuple[int, ...] | None = None
    phase: Phase = Speaking()
    standing: Standing = Standing.CANDIDATE
    recognized: Recognized = Recognized()
    not_before_s: float = field(default=0.0, init=False)
    typed: str = field(default="", init=False)
    notified: str = field(default="", init=False)
    own_pauses_s: tuple[float, ...] = field(default=(), init=False)
    length: Length = field(default=Length.BRIEF, init=False)
    nearness: Nearness = field(default=Nearness.NEAR, init=False)
    level_db: float | None = field(default=None, init=False)

    @property
    def announced(self) -> bool:
        """Whether the client knows of it."""
        return self.standing is not Standing.CANDIDATE

    @property
    def speaking(self) -> bool:
        """Whether the caller speaks: no pause, and no end."""
        return isinstance(self.phase, Speaking)

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return isinstance(self.phase, Ended)

    @property
    def settled(self) -> bool:
        """Whether the words cover all that was voiced, or no more of them can be had."""
        known = self.recognized.failure is not None or self.recognized.flushes == 0
        return known and not self.speaking

    @property
    def text(self) -> str:
        """What it is understood to say."""
        return self.recognized.text

    @property
    def whole_text(self) -> str:
        """The words of the turn that it resumes, and then its own."""
        return f"{self.resumes.whole_text} {self.text}" if self.resumes else self.text

    @property
    def pauses_s(self) -> tuple[float, ...]:
        """Pauses after which the caller went on, in seconds, one that was taken for the end among them."""
        if self.resumes is None:
            return self.own_pauses_s
        return (*self.resumes.pauses_s, self.started_at_s - self.resumes.end_s, *self.own_pauses_s)

    @property
    def voiced_s(self) -> float:
        """Seconds from its first voiced sample to the last before the pause; infinite while the caller
        speaks."""
        return math.inf if isinstance(self.phase, Speaking) else self.phase.at_s - self.started_at_s

    @property
    def end_s(self) -> float:
        """When its last voiced sample was; while it goes on, when it began."""
        return self.phase.at_s if isinstance(self.phase, Ended) else self.started_at_s

    @property
    def sound_end_s(self) -> float:
        """The end of its item's sound; while the turn goes on, its beginning."""
        if isinstance(self.phase, Ended) and self.phase.sound_end_s is not None:
            return self.phase.sound_end_s
        return self.end_s
