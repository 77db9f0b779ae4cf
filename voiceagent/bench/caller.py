"""One caller of `bench calls`: says something, hears the answer out or speaks over it, hangs up. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

import numpy as np

from audio.pcm import Samples
from voiceagent.bench.tally import Tally

FRAME_S = 0.02
THINKS_S = (0.5, 2.0)
"""The least and the most that a caller waits before he speaks."""
INTERRUPTS = 0.25
"""The part of the responses that are spoken over."""
INTERRUPTS_AFTER_S = (0.8, 2.0)
"""How long such a response has been heard by then."""
QUIET_S = 1.0
"""An agent silent for so long has finished."""
PATIENCE_S = 5.0
"""A turn that has no answer by then is missed. Nobody gives up while the agent speaks."""
LATE_S = 20.0
"""How long he waits for the answer to a missed turn, to tell one that is late from one that never comes."""
NEXT_RESPONSE_S = 0.1
"""An agent that was spoken over, goes on, and falls silent for so long has finished: what it says then is the
answer. A response takes longer to begin, and a break in one that was held begins before the caller ends."""
AUDIBLE = 100
"""A sample from which on the agent is heard, of 32,768."""


@dataclass(frozen=True, slots=True)
class Saying:
    """What a caller can say. frames: as they are sent. voice_from_s, voice_to_s: where the voice is in it."""

    frames: tuple[bytes, ...]
    voice_from_s: float
    voice_to_s: float


class Talker(Protocol):
    """Who makes a call, as its connection sees him. Each member is as `Caller` has it."""

    @property
    def sent(self) -> int:
        """Frames that were sent."""

    @property
    def played_out_s(self) -> float:
        """When all the agent's sound that came has been played."""

    @property
    def waits(self) -> bool:
        """Whether the agent's next sound is to be decoded."""

    @property
    def due_s(self) -> float:
        """When the next frame is to be sent."""

    def frame(self, now_s: float) -> bytes:
        """The next 20 ms."""

    def hear(self, now_s: float, sound: Samples | None, seconds: float = FRAME_S) -> None:
        """The agent's sound goes on for so many seconds."""

    def cleared(self, now_s: float) -> None:
        """The agent stopped in mid-response."""

    def speech_stopped(self, at_s: float) -> None:
        """The server took the voice for over."""

    def understood(self, text: str) -> None:
        """What the server took a turn to say."""


class _AgentVoice:
    """The agent as a caller hears it. played_out_s: when all its sound that came has been played."""

    def __init__(self, now_s: float) -> None:
        self.speaking = False
        self.played_out_s = now_s

    def hear(self, now_s: float, seconds: float) -> float:
        """Take in so many seconds of sound; returns when they begin to be played."""
        begins_s = max(now_s, self.played_out_s) if self.speaking else now_s
        self.speaking = True
        self.played_out_s = begins_s + seconds
        return begins_s

    def cleared(self, now_s: float) -> None:
        """What is not played yet never will be."""
        self.speaking = False
        self.played_out_s = min(self.played_out_s, now_s)


@dataclass(slots=True)
class _Turn:
    """What a caller said last. interrupting: over the agent, which has not stopped, or finished, since.
    ignored: it finished. missed: there was no answer in time. waits_from_s: since then he has waited for it.
    """

    voice_from_s: float
    voice_to_s: float
    interrupting: bool
    ignored: bool = False
    missed: bool = False
    waits_from_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.waits_from_s = self.voice_to_s


class Caller:
    """One call. `now_s` is any clock; sound is spoken on time, whatever becomes of it.

    began_s: when the first sample is spoken. silence: the frames of saying nothing, over and over.
    """

    def __init__(
        self,
        began_s: float,
        sayings: Iterator[Saying],
        silence: tuple[bytes, ...],
        turns: int,
        random: Random,
        tally: Tally,
    ) -> None:
        self._began_s = began_s
        self._sayings = sayings
        self._silence = silence
        self._turns = turns
        self._random = random
        self._tally = tally
        self._sent = 0
        self._saying: Saying | None = None
        self._said = 0
        self._speaks_at_s: float | None = began_s + random.uniform(*THINKS_S)
        self._turn = _Turn(began_s, began_s, interrupting=False)
        self._detected_s: float | None = None
        self._unanswered = False
        self._agent = _AgentVoice(began_s)

    @property
    def sent(self) -> int:
        """Frames that were sent."""
        return self._sent

    @property
    def played_out_s(self) -> float:
        """When all the agent's sound that came has been played."""
        return self._agent.played_out_s

    @property
    def due_s(self) -> float:
        """When the next frame is to be sent: when its last sample has been spoken."""
        return self._began_s + (self._sent + 1) * FRAME_S

    @property
    def waits(self) -> bool:
        """Whether the next audible sample is the answer that is waited for."""
        return self._unanswered and not self._turn.interrupting

    @property
    def finished(self) -> bool:
        """Whether everything was said and answered."""
        return self._turns == 0 and self._saying is None and not self._unanswered and not self._agent.speaking

    def frame(self, now_s: float) -> bytes:
        """The next 20 ms."""
        self._decide(now_s)
        self._sent += 1
        if self._saying is None:
            return self._silence[self._sent % len(self._silence)]
        frame = self._saying.frames[self._said]
        self._said += 1
        if self._said == len(self._saying.frames):
            self._saying = None
        return frame

    def hear(self, now_s: float, sound: Samples | None, seconds: float = FRAME_S) -> None:
        """Take in so many seconds of the agent's sound; what it is matters only while `waits`."""
        tally = self._tally
        tally.frames.count += 1
        agent = self._agent
        if agent.speaking and now_s > agent.played_out_s:
            tally.frames.late += 1
        if agent.speaking and self._has_finished(now_s):
            self._finished_speaking()
        begins_s = agent.hear(now_s, seconds)
        if sound is None or not self.waits:
            return
        audible = np.flatnonzero(np.abs(sound.astype(np.int32)) >= AUDIBLE)
        if len(audible):
            self._answered(begins_s + float(audible[0]) / len(sound) * seconds)

    def cleared(self, now_s: float) -> None:
        """The agent stopped in mid-response: what is not played yet never will be."""
        self._agent.cleared(now_s)
        if self._turn.interrupting:
            self._turn.interrupting = False
            self._tally.yielded.append((self._agent.played_out_s - self._turn.voice_from_s) * 1000)

    def speech_stopped(self, at_s: float) -> None:
        """The server took the voice for over at `at_s` seconds of the call's sound."""
        self._detected_s = self._began_s + at_s

    def understood(self, text: str) -> None:
        """What the server took a turn to say: nothing that this caller minds."""

    def _decide(self, now_s: float) -> None:
        """Begin to speak when it is time, give up an answer that does not come."""
        if self._agent.speaking and self._is_quiet(now_s):
            self._agent.speaking = False
            self._finished_speaking()
        if self._saying is not None:
            return
        if self._unanswered:
            self._wait_for_the_answer(now_s)
        elif self._turns and self._speaks_at_s is None and not self._agent.speaking:
            self._speaks_at_s = now_s + self._random.uniform(*THINKS_S)
        elif self._speaks_at_s is not None and now_s >= self._speaks_at_s:
            self._speak()

    def _wait_for_the_answer(self, now_s: float) -> None:
        turn = self._turn
        if turn.interrupting:
            return
        if now_s > turn.waits_from_s + PATIENCE_S and not turn.missed:
            turn.missed = True
            self._tally.missed += 1
        if now_s > turn.waits_from_s + LATE_S:
            self._unanswered = False

    def _is_quiet(self, now_s: float) -> bool:
        """Whether the agent has been silent for long; one that is spoken over may only be held."""
        held = self._turn.interrupting and now_s <= self._turn.voice_to_s
        return now_s > self._agent.played_out_s + QUIET_S and not held

    def _has_finished(self, now_s: float) -> bool:
        """Whether the agent's sound that comes now is another response, the caller's words being over."""
        played_out_s = self._agent.played_out_s
        if self._is_quiet(now_s):  # a frame that is late itself says nothing of it
            return True
        return played_out_s > self._turn.voice_to_s and now_s > played_out_s + NEXT_RESPONSE_S

    def _finished_speaking(self) -> None:
        """The agent has said to its end what it was saying, interrupted or not."""
        turn = self._turn
        if turn.interrupting:
            turn.interrupting, turn.ignored = False, True
            turn.waits_from_s = max(turn.voice_to_s, self._agent.played_out_s)
            self._tally.ignored += 1

    def _speak(self) -> None:
        self._saying, self._said, self._speaks_at_s = next(self._sayings), 0, None
        from_s = self._began_s + self._sent * FRAME_S
        voice_from_s, voice_to_s = from_s + self._saying.voice_from_s, from_s + self._saying.voice_to_s
        self._turn = _Turn(voice_from_s, voice_to_s, self._agent.speaking)
        self._unanswered, self._detected_s = True, None
        self._turns -= 1

    def _answered(self, audible_s: float) -> None:
        self._unanswered = False
        if self._turn.missed:
            self._tally.answered_late += 1
        elif audible_s < self._turn.voice_to_s:
            self._tally.cut_off += 1
        elif not self._turn.ignored:
            self._tally.from_voice.append((audible_s - self._turn.voice_to_s) * 1000)
            if self._detected_s is not None:
                self._tally.from_detected.append((audible_s - self._detected_s) * 1000)
        if self._turns and self._random.random() < INTERRUPTS:
            self._speaks_at_s = audible_s + self._random.uniform(*INTERRUPTS_AFTER_S)
