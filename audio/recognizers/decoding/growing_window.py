"""The sound that is decoded again and again while it grows, and what has become of its words.

For a model that does not stream. As in "Turning Whisper into Real-Time Transcription System" (Macháček,
Dabre and Bojar, 2023), the window grows, successive hypotheses that agree settle its leading words, and past
a length it loses the sound of settled segments, so that a decoding never costs more than a bounded time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

import numpy as np
from numpy.typing import NDArray

from audio.agreement import LocalAgreement, word_key
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ

_AGREEING = 3
"""How many hypotheses in a row must agree. With two, Moonshine has a tenth more words wrong: they settle
before it hears them rightly."""
_CUT_ANYWAY = 1.3
_KEPT_SILENCE_S = 1.0
_BEHIND_VOICE_S = 0.06
"""A sound that ends so long behind its voice has all its words. Of 110 sentences, cut at sixteen places from
40 ms behind the fall in loudness to 250 ms behind the voice, 226 to 238 words are wrong, in no order."""
_BRIEF_S = 2.0
"""What is said in less is heard again: a word alone is easily misheard, and little sound is soon decoded."""
_PROMPT_WORDS = 40
_SENTENCE_ENDS = ".?!…"
_WORD = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a decoded window. end_s: where its sound ends, from the window's start. confidence,
    complete: as Hypothesis has them. final: more sound would change neither its words nor its end."""

    text: str
    end_s: float
    confidence: float | None = None
    final: bool = False
    complete: float | None = None


class GrowingWindow:
    """One utterance's sound not yet cut away, and its text from the very start.

    step_s: new sound that makes decoding again worthwhile. longest_s: past this the window is cut where its
    words are stable, past 1.3 times this anyway. Final segments are cut away at once.
    """

    def __init__(self, step_s: float, longest_s: float) -> None:
        self._step = round(step_s * SAMPLE_RATE_HZ)
        self._longest_s = longest_s
        self._sound: Samples = np.zeros(0, np.int16)
        self._new: list[Samples] = []
        self._new_samples = self._taken_samples = 0
        self._cut_text = ""
        self._agreement = LocalAgreement(_AGREEING)
        self._text = ""
        self._confidence: float | None = None
        self._complete: float | None = None

    @property
    def text(self) -> str:
        """The whole utterance as decoded last."""
        return self._text

    @property
    def confidence(self) -> float | None:
        """The confidence of the least certain piece that was decoded last."""
        return self._confidence

    @property
    def complete(self) -> float | None:
        """How likely what was decoded last is complete, by its last piece."""
        return self._complete

    @property
    def stable(self) -> str:
        """What the newest texts begin with."""
        return self._agreement.stable

    def is_changed(self, silence_s: float = 0.0) -> bool:
        """Whether sound came that was not decoded, and may have words or make a stop of a comma.

        silence_s: so much at its end is silent.
        """
        whole = len(self._sound) + sum(map(len, self._new))
        ends = self._text.endswith(tuple(_SENTENCE_ENDS))
        return self._new_samples > (wordless_samples(silence_s, whole) if ends else 0)

    def is_due(self, steps: float = 1.0) -> bool:
        """Whether so many steps of sound, at least one, came that were not decoded."""
        return self._new_samples >= self._step * max(1.0, steps)

    @property
    def prompt(self) -> str:
        """The last words whose sound was cut away."""
        return " ".join(self._cut_text.split()[-_PROMPT_WORDS:])

    def hear(self, sound: Samples) -> None:
        """More sound of the utterance."""
        self._new.append(sound)
        self._new_samples += len(sound)

    def take(self) -> Samples:
        """All of the window, to be decoded now."""
        self._sound = np.concatenate([self._sound, *self._new])
        self._new.clear()
        self._taken_samples, self._new_samples = self._new_samples, 0
        return self._sound

    def put_back(self) -> None:
        """Nothing came of decoding what `take` returned last: all of it is to be decoded yet."""
        self._new_samples += self._taken_samples

    def decoded(self, segments: Sequence[Segment]) -> None:
        """What came of decoding what `take` returned last."""
        told = [segment.confidence for segment in segments if segment.confidence is not None]
        self._confidence = min(told, default=None)
        self._complete = segments[-1].complete if segments else None
        texts = list(accumulate((segment.text for segment in segments), joined, initial=self._cut_text))
        self._text = texts[-1]
        self._agreement.push(self._text)
        cut = sum(1 for _ in takewhile(lambda segment: segment.final, segments))
        length_s = len(self._sound) / SAMPLE_RATE_HZ
        if length_s > self._longest_s:
            if not segments:
                self._sound = self._sound[-round(_KEPT_SILENCE_S * SAMPLE_RATE_HZ) :]
            cut = max(cut, self._stable_segments(texts, length_s))
        if cut:
            self._cut_text = texts[cut]
            self._sound = self._sound[round(segments[cut - 1].end_s * SAMPLE_RATE_HZ) :]

    def _stable_segments(self, texts: Sequence[str], length_s: float) -> int:
        """How many leading segments have only stable words; all where none has and the window is too long.

        texts: the text up to each segment, and behind the last.
        """
        stable = sum(len(text.split()) <= self._agreement.stable_words for text in texts[1:])
        return len(texts) - 1 if not stable and length_s > _CUT_ANYWAY * self._longest_s else stable


def wordless_samples(silence_s: float, whole: int) -> int:
    """How much of a sound, `whole` samples, can be left out at its end, which is silent for so long, and no
    word with it."""
    if whole < _BRIEF_S * SAMPLE_RATE_HZ:
        return 0
    return max(0, round((silence_s - _BEHIND_VOICE_S) * SAMPLE_RATE_HZ))


def joined(before: str, after: str) -> str:
    """Two texts as one, of sounds that follow each other and were decoded apart.

    What ends only because its sound does has a full stop that what goes on small takes back, and a word that
    the cut went through may be in both.
    """
    left, right = before.split(), after.split()
    if not left or not right:
        return " ".join([*left, *right])
    if right[0][0].islower():
        left[-1] = left[-1].rstrip(_SENTENCE_ENDS) or left[-1]
        if word_key(left[-1]) == word_key(right[0]):
            left.pop()
    return " ".join([*left, *right])


_EARLIEST_S = 5
_LATEST_S = 9
_STEP_S = 0.02
_QUIET_STEPS = 10


def quiet_cuts(sound: Samples) -> list[int]:
    """The samples where `sound`, 16 kHz, falls into pieces of 5 to 9 s.

    Each cut is in the middle of the quietest 0.2 s there. More sound at the end moves none of them.
    """
    step = round(_STEP_S * SAMPLE_RATE_HZ)
    cuts: list[int] = []
    begin = 0
    while len(sound) - begin > _LATEST_S * SAMPLE_RATE_HZ:
        first = begin + _EARLIEST_S * SAMPLE_RATE_HZ
        searched = sound[first : begin + _LATEST_S * SAMPLE_RATE_HZ].astype(np.float64).reshape(-1, step)
        energy = np.convolve((searched**2).sum(axis=1), np.ones(_QUIET_STEPS), "valid")
        begin = first + (int(energy.argmin()) + _QUIET_STEPS // 2) * step
        cuts.append(begin)
    return cuts


_PAUSE_STEPS = round(0.7 / _STEP_S)
_VOICE_STEPS = round(0.5 / _STEP_S)
_BEFORE_VOICE_STEPS = round(0.3 / _STEP_S)
_SILENT = 10 ** (-25 / 10)
"""A step is silent with this part of the energy of the loudest step before it."""


def loud_s(sound: Samples) -> float:
    """Seconds of `sound`, 16 kHz, that are not silent beside its loudest."""
    energies = _energies(sound)
    return _STEP_S * int((energies > _SILENT * energies.max(initial=0.0)).sum())


def last_pause(sound: Samples) -> tuple[int, int] | None:
    """Where the last pause of 0.7 s or more in `sound`, 16 kHz, begins, and 0.3 s before it ends; None
    without one that has a voice before it, and one of 0.5 s or more behind.
    """
    step = round(_STEP_S * SAMPLE_RATE_HZ)
    energies = _energies(sound)
    voiced = np.flatnonzero(energies > _SILENT * np.maximum.accumulate(energies))
    gaps = np.flatnonzero(np.diff(voiced) > _PAUSE_STEPS)
    if not len(gaps) or len(voiced) - 1 - gaps[-1] < _VOICE_STEPS:
        return None
    before, behind = voiced[gaps[-1] : gaps[-1] + 2].tolist()
    return (before + 1) * step, (behind - _BEFORE_VOICE_STEPS) * step


def _energies(sound: Samples) -> NDArray[np.float64]:
    """The energies of its whole steps."""
    step = round(_STEP_S * SAMPLE_RATE_HZ)
    steps = sound[: len(sound) // step * step].astype(np.float64).reshape(-1, step)
    energies: NDArray[np.float64] = (steps**2).sum(axis=1)
    return energies


def spoken_length(text: str) -> int:
    """About how many words a text is when it is said: the figures of a number are words."""
    return sum(len(word) if word.isdigit() else 1 for word in _WORD.findall(text))


_AGAIN_WORDS = 5


def says_again(text: str) -> bool:
    """Whether five words in a row are said twice, as a model does that goes round in a loop."""
    words = [word_key(word) for word in text.split()]
    runs = [tuple(words[at : at + _AGAIN_WORDS]) for at in range(len(words) - _AGAIN_WORDS + 1)]
    return len(set(runs)) < len(runs)
