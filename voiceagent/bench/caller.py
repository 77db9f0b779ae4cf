"""A simulated caller of `bench calls`: speaks, hears the answer out or interrupts it, hangs up."""

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
"""Range of the pause before the caller speaks."""
INTERRUPTS = 0.25
"""Share of responses to interrupt."""
INTERRUPTS_AFTER_S = (0.8, 2.0)
"""Range of the time into a response at which it is interrupted."""
QUIET_S = 1.0
"""Silence after which the agent counts as finished."""
PATIENCE_S = 5.0
"""Wait after which a turn counts as unanswered. It does not run while the agent speaks."""
LATE_S = 20.0
"""Further wait for the answer to such a turn, to tell late answers from missing ones."""
NEXT_RESPONSE_S = 0.1
"""Silence after which an interrupted agent that continued has finished; what follows is the answer. A
response takes longer to begin, and the gap of a held one begins before the caller ends.
"""
OVERLAP_S = 0.3
"""Minimum time that the agent goes on under a voice that it ignores. One that ends sooner had no time to
yield, which takes up to 0.2 s, or had ended before the voice began.
"""
AUDIBLE = 100
"""Amplitude from which the agent is audible, of 32,768."""


@dataclass(frozen=True, slots=True)
class Saying:
    """An utterance. frames: as sent. voice_from_s, voice_to_s: span of the voice in it."""

    frames: tuple[bytes, ...]
    voice_from_s: float
    voice_to_s: float


class Talker(Protocol):
    """A caller as its connection sees it. See `Caller` for the members."""

    @property
    def sent(self) -> int:
        """Number of frames sent."""

    @property
    def played_out_s(self) -> float:
        """Time at which all audio received from the agent has been played."""

    @property
    def waits(self) -> bool:
        """True if the agent's next audio must be decoded."""

    @property
    def due_s(self) -> float:
        """Time at which the next frame is due."""

    def frame(self, now_s: float) -> bytes:
        """Return the next 20 ms."""

    def hear(self, now_s: float, sound: Samples | None, seconds: float = FRAME_S) -> None:
        """Receive `seconds` of the agent's audio."""

    def cleared(self, now_s: float) -> None:
        """Drop unplayed audio: the agent was interrupted."""

    def speech_stopped(self, at_s: float) -> None:
        """Handle the server's detection of the end of speech."""

    def understood(self, text: str) -> None:
        """Handle the server's transcript of a turn."""


class _AgentVoice:
    """Playback of the agent. played_out_s: when all audio received has been played."""

    def __init__(self, now_s: float) -> None:
        self.speaking = False
        self.played_out_s = now_s

    def hear(self, now_s: float, seconds: float) -> float:
        """Add `seconds` of audio; return when its playback begins."""
        begins_s = max(now_s, self.played_out_s) if self.speaking else now_s
        self.speaking = True
        self.played_out_s = begins_s + seconds
        return begins_s

    def cleared(self, now_s: float) -> None:
        """Drop unplayed audio."""
        self.speaking = False
        self.played_out_s = min(self.played_out_s, now_s)


@dataclass(slots=True)
class _Turn:
    """The caller's latest turn.

    interrupting: spoken over the agent, which has neither stopped nor finished since. ignored: the agent
    finished. missed: no answer in time. waits_from_s: start of the wait for the answer.
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
    """A simulated caller of one call: speaks recorded turns and measures the answers. `now_s` is any clock;
    audio is sent on time regardless of the agent.

    began_s: when the first sample is spoken. silence: frames to repeat while the caller is silent.
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
        """Number of frames sent."""
        return self._sent

    @property
    def played_out_s(self) -> float:
        """Time at which all audio received from the agent has been played."""
        return self._agent.played_out_s

    @property
    def due_s(self) -> float:
        """Time at which the next frame is due: when its last sample has been spoken."""
        return self._began_s + (self._sent + 1) * FRAME_S

    @property
    def waits(self) -> bool:
        """True if the next audible sample is the awaited answer."""
        return self._unanswered and not self._turn.interrupting

    @property
    def finished(self) -> bool:
        """True if all turns were spoken and answered."""
        return self._turns == 0 and self._saying is None and not self._unanswered and not self._agent.speaking

    def frame(self, now_s: float) -> bytes:
        """Return the next 20 ms."""
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
        """Receive `seconds` of the agent's audio; its samples matter only if `waits`."""
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
        """Drop unplayed audio: the agent was interrupted."""
        self._agent.cleared(now_s)
        if self._turn.interrupting:
            self._turn.interrupting = False
            self._tally.yielded.append((self._agent.played_out_s - self._turn.voice_from_s) * 1000)

    def speech_stopped(self, at_s: float) -> None:
        """Record that the server detected the end of speech at `at_s` of the call's audio."""
        self._detected_s = self._began_s + at_s

    def understood(self, text: str) -> None:
        """Ignore the server's transcript."""

    def _decide(self, now_s: float) -> None:
        """Start to speak when it is time, or give up an answer."""
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
        """Return True if the agent has been silent for long; an interrupted one may only be held."""
        held = self._turn.interrupting and now_s <= self._turn.voice_to_s
        return now_s > self._agent.played_out_s + QUIET_S and not held

    def _has_finished(self, now_s: float) -> bool:
        """Return True if the audio arriving now belongs to another response."""
        played_out_s = self._agent.played_out_s
        if self._is_quiet(now_s):  # so long a gap is not one late frame
            return True
        return played_out_s > self._turn.voice_to_s and now_s > played_out_s + NEXT_RESPONSE_S

    def _finished_speaking(self) -> None:
        """Handle the end of the agent's speech, interrupted or not."""
        turn = self._turn
        if turn.interrupting:
            turn.interrupting = False
            turn.ignored = self._agent.played_out_s > turn.voice_from_s + OVERLAP_S
            turn.waits_from_s = max(turn.voice_to_s, self._agent.played_out_s)
            self._tally.ignored += turn.ignored

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
