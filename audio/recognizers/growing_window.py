"""The sound that is decoded again and again while it grows, and what has become of its words.

For a model that does not stream. As in "Turning Whisper into Real-Time Transcription System" (Macháček,
Dabre and Bojar, 2023), the window grows, successive hypotheses that agree settle its leading words, and past
a length it loses the sound of settled segments, so that a decoding never costs more than a bounded time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audio.agreement import LocalAgreement
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ

_AGREEING = 3
"""With two, Moonshine has a tenth more words wrong: they settle before it hears them rightly."""
_CUT_ANYWAY = 1.3
_KEPT_SILENCE_S = 1.0
_PROMPT_WORDS = 40


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a decoded window. end_s: where its sound ends, from the window's start. confidence: as
    Hypothesis has it."""

    text: str
    end_s: float
    confidence: float | None = None


class GrowingWindow:
    """One utterance's sound not yet cut away, and its text from the very start.

    step_s: new sound that makes decoding again worthwhile. longest_s: past this the window is cut where its
    words are stable, past 1.3 times this anyway.
    """

    def __init__(self, step_s: float, longest_s: float) -> None:
        self._step = round(step_s * SAMPLE_RATE_HZ)
        self._longest_s = longest_s
        self._sound: Samples = np.zeros(0, np.int16)
        self._new: list[Samples] = []
        self._new_samples = 0
        self._cut_words: list[str] = []
        self._agreement = LocalAgreement(_AGREEING)
        self._text = ""
        self._confidence: float | None = None

    @property
    def text(self) -> str:
        """The whole utterance as decoded last."""
        return self._text

    @property
    def confidence(self) -> float | None:
        """That of the least certain piece decoded last."""
        return self._confidence

    @property
    def stable(self) -> str:
        """What all later texts begin with."""
        return self._agreement.stable

    @property
    def changed(self) -> bool:
        """Whether sound came that was not decoded."""
        return self._new_samples > 0

    @property
    def due(self) -> bool:
        """Whether a step of sound came that was not decoded."""
        return self._new_samples >= self._step

    @property
    def prompt(self) -> str:
        """The last words whose sound was cut away."""
        return " ".join(self._cut_words[-_PROMPT_WORDS:])

    def hear(self, sound: Samples) -> None:
        """More sound of the utterance."""
        self._new.append(sound)
        self._new_samples += len(sound)

    def take(self) -> Samples:
        """All of the window, to be decoded now."""
        self._sound = np.concatenate([self._sound, *self._new])
        self._new.clear()
        self._new_samples = 0
        return self._sound

    def decoded(self, segments: Sequence[Segment]) -> None:
        """What came of decoding what `take` returned last."""
        words = [word for segment in segments for word in segment.text.split()]
        known = [segment.confidence for segment in segments if segment.confidence is not None]
        self._confidence = min(known, default=None)
        self._text = self._agreement.push(" ".join([*self._cut_words, *words]))
        length_s = len(self._sound) / SAMPLE_RATE_HZ
        if length_s > self._longest_s:
            self._cut(segments, length_s)

    def _cut(self, segments: Sequence[Segment], length_s: float) -> None:
        """Let go of the segments that are stable; of all where none is and the window gets too long."""
        if not segments:
            self._sound = self._sound[-round(_KEPT_SILENCE_S * SAMPLE_RATE_HZ) :]
            return
        whole = len(self._cut_words)
        stable = 0
        for segment in segments:
            whole += len(segment.text.split())
            if whole > self._agreement.stable_words:
                break
            stable += 1
        if not stable and length_s > _CUT_ANYWAY * self._longest_s:
            stable = len(segments)
        for segment in segments[:stable]:
            self._cut_words += segment.text.split()
        if stable:
            self._sound = self._sound[round(segments[stable - 1].end_s * SAMPLE_RATE_HZ) :]
