"""Growing window of audio that is decoded repeatedly, and the state of its transcript.

For a model that does not stream. As in "Turning Whisper into Real-Time Transcription System" (Macháček, Dabre
and Bojar, 2023), the window grows, successive hypotheses that agree settle its leading words, and past a
length it drops the audio of settled segments, so that the cost of a decoding is bounded.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from audio.agreement import LocalAgreement, word_key
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, LanguageProbabilities

_AGREEING = 3
"""Consecutive hypotheses that must agree. With two, Moonshine has a tenth more words wrong."""
_CUT_ANYWAY = 1.3
"""Multiple of `longest_s` at which a window without stable words is cut, to bound a decoding's cost."""
_KEPT_WORDLESS_S = 1.0
"""Audio to keep of a window past `longest_s` without words: a word may be beginning in it."""
_AFTER_VOICE_S = 0.06
"""Audio that extends this long past its voice has all its words. Of 110 sentences, cut at sixteen places from
40 ms after the fall in loudness to 250 ms after the voice, 226 to 238 words are wrong, in no order.
"""
_BRIEF_S = 2.0
"""Shorter audio is always decoded again: a single word is easily misheard, and decoded fast."""
_PROMPT_WORDS = 40
"""Words of the text before the window to give a model as its prompt."""
_SENTENCE_ENDS = ".?!…"
_WORD = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a decoded window.

    Attributes:
        text: its transcript.
        end_s: its end, from the window's start.
        confidence: see Hypothesis.
        final: more audio would change neither its transcript nor its end.
        complete: see Hypothesis.
        languages: see Hypothesis.
    """

    text: str
    end_s: float
    confidence: float | None = None
    final: bool = False
    complete: float | None = None
    languages: LanguageProbabilities = ()


class GrowingWindow:
    """One utterance: its audio that is not yet cut, and its text from the start.

    Final segments are cut off at once.

    Args:
        step_s: new audio that triggers another decoding.
        longest_s: past this the window is cut where its text is stable, past 1.3 times this in any case.
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
        self.languages: LanguageProbabilities = ()
        """Probabilities of the utterance's languages at the last detection."""

    @property
    def text(self) -> str:
        """Transcript of the whole utterance at the last decoding."""
        return self._text

    @property
    def confidence(self) -> float | None:
        """Lowest confidence of the segments decoded last."""
        return self._confidence

    @property
    def complete(self) -> float | None:
        """Probability that the turn is complete, by the segment decoded last."""
        return self._complete

    @property
    def stable(self) -> str:
        """Leading part on which the newest transcripts agree."""
        return self._agreement.stable

    def is_changed(self, silence_s: float = 0.0) -> bool:
        """Return True if undecoded audio may contain words, or turn a comma into a full stop.

        silence_s: length of the silence at its end.
        """
        whole = len(self._sound) + sum(map(len, self._new))
        ends = self._text.endswith(tuple(_SENTENCE_ENDS))
        return self._new_samples > (wordless_samples(silence_s, whole) if ends else 0)

    def is_due(self, steps: float = 1.0) -> bool:
        """Return True if at least `steps` steps of audio, and at least one, are undecoded."""
        return self._new_samples >= self._step * max(1.0, steps)

    @property
    def prompt(self) -> str:
        """Last words of the text whose audio was cut off."""
        return " ".join(self._cut_text.split()[-_PROMPT_WORDS:])

    def push_audio(self, sound: Samples) -> None:
        """Add audio."""
        self._new.append(sound)
        self._new_samples += len(sound)

    def take_window(self) -> Samples:
        """Return the whole window, for decoding now."""
        self._sound = np.concatenate([self._sound, *self._new])
        self._new.clear()
        self._taken_samples, self._new_samples = self._new_samples, 0
        return self._sound

    def mark_undecoded(self) -> None:
        """Mark the audio of the last `take_window` as undecoded again, after an abandoned decoding."""
        self._new_samples += self._taken_samples

    def on_decoded(self, segments: Sequence[Segment]) -> None:
        """Update the transcript with the segments of the last `take_window`."""
        confidences = [segment.confidence for segment in segments if segment.confidence is not None]
        self._confidence = min(confidences, default=None)
        self._complete = segments[-1].complete if segments else None
        self.languages = (segments[-1].languages if segments else ()) or self.languages
        texts = list(accumulate((segment.text for segment in segments), joined, initial=self._cut_text))
        self._text = texts[-1]
        self._agreement.push(self._text)
        cut = sum(1 for _ in takewhile(lambda segment: segment.final, segments))
        length_s = len(self._sound) / SAMPLE_RATE_HZ
        if length_s > self._longest_s:
            if not segments:
                self._sound = self._sound[-round(_KEPT_WORDLESS_S * SAMPLE_RATE_HZ) :]
            cut = max(cut, self._stable_segments(texts, length_s))
        if cut:
            self._cut_text = texts[cut]
            self._sound = self._sound[round(segments[cut - 1].end_s * SAMPLE_RATE_HZ) :]

    def _stable_segments(self, texts: Sequence[str], length_s: float) -> int:
        """Return the number of leading segments with only stable words; all if none has and the window is too
        long.

        texts: the text up to each segment, and after the last.
        """
        stable = sum(len(text.split()) <= self._agreement.stable_words for text in texts[1:])
        return len(texts) - 1 if not stable and length_s > _CUT_ANYWAY * self._longest_s else stable


def wordless_samples(silence_s: float, whole: int) -> int:
    """Return how many samples can be dropped from the end of audio without losing a word.

    Args:
        silence_s: length of the silence at its end.
        whole: its length in samples.
    """
    if whole < _BRIEF_S * SAMPLE_RATE_HZ:
        return 0
    return max(0, round((silence_s - _AFTER_VOICE_S) * SAMPLE_RATE_HZ))


def joined(before: str, after: str) -> str:
    """Join the transcripts of consecutive audio that was decoded separately.

    Removes the full stop that a cut within a sentence causes (the rest begins with a lower-case letter), and
    the repetition of a word that was cut in two.
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
"""Range of a piece's length in seconds: below a window's 10 s, so that a window past it has a final piece."""
_LATEST_S = 9
_STEP_S = 0.02
"""Resolution at which loudness is measured."""
_QUIET_STEPS = 10
"""Length of the quiet place at which audio is cut, 0.2 s: longer than a stop consonant's closure."""


def quiet_cuts(sound: Samples) -> list[int]:
    """Return the samples at which to split `sound`, 16 kHz, into pieces of 5 to 9 s.

    Each cut is in the middle of the quietest 0.2 s of its range. More audio at the end moves no cut.
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
"""Minimum pause (0.7 s) after which Moonshine may omit what follows."""
_VOICE_STEPS = round(0.5 / _STEP_S)
"""Minimum voice after it (0.5 s) for a word to have been omitted."""
_BEFORE_VOICE_STEPS = round(0.3 / _STEP_S)
"""Audio to keep before that voice (0.3 s), for its soft onset."""
_GROUP_STEPS = round(0.8 / _STEP_S)
"""Minimum length of a group of dictation, 0.8 s: single letters are recognized badly alone."""
_SILENT = 10 ** (-25 / 10)
"""A step is silent below this share of the energy of the loudest step before it: 25 dB."""


def loud_s(sound: Samples) -> float:
    """Return the seconds of `sound`, 16 kHz, that are not silent relative to its loudest step."""
    energies = _energies(sound)
    return _STEP_S * int((energies > _SILENT * energies.max(initial=0.0)).sum())


def last_pause(sound: Samples) -> tuple[int, int] | None:
    """Return the start of the last pause of 0.7 s or more in `sound`, 16 kHz, and the sample 0.3 s before its
    end.

    None without a pause that has a voice before it and 0.5 s or more of voice after it.
    """
    step = round(_STEP_S * SAMPLE_RATE_HZ)
    energies = _energies(sound)
    voiced = np.flatnonzero(energies > _SILENT * np.maximum.accumulate(energies))
    gaps = np.flatnonzero(np.diff(voiced) > _PAUSE_STEPS)
    if not len(gaps) or len(voiced) - 1 - gaps[-1] < _VOICE_STEPS:
        return None
    before, behind = voiced[gaps[-1] : gaps[-1] + 2].tolist()
    return (before + 1) * step, (behind - _BEFORE_VOICE_STEPS) * step


def spoken_groups(sound: Samples) -> list[Samples]:
    """Return `sound`, 16 kHz, cut in the middle of pauses of 0.2 s or more, into groups of 0.8 s or more."""
    step = round(_STEP_S * SAMPLE_RATE_HZ)
    energies = _energies(sound)
    voiced = np.flatnonzero(energies > _SILENT * energies.max(initial=0.0))
    cuts = [0]
    for before, behind in pairwise(voiced.tolist()):
        middle = (before + behind) // 2
        if (
            behind - before > _QUIET_STEPS
            and middle - cuts[-1] >= _GROUP_STEPS
            and voiced[-1] - middle >= _GROUP_STEPS
        ):
            cuts.append(middle)
    return np.split(sound, [cut * step for cut in cuts[1:]])


def _energies(sound: Samples) -> NDArray[np.float64]:
    step = round(_STEP_S * SAMPLE_RATE_HZ)
    steps = sound[: len(sound) // step * step].astype(np.float64).reshape(-1, step)
    energies: NDArray[np.float64] = (steps**2).sum(axis=1)
    return energies


def spoken_length(text: str) -> int:
    """Return the approximate number of spoken words: each digit of a number is one."""
    return sum(len(word) if word.isdigit() else 1 for word in _WORD.findall(text))


_RUNAWAY_COMPRESSION = 2.4
"""Bytes of a text per byte of its zlib compression, above which it is a loop: OpenAI's Whisper takes the same
bound (`compression_ratio_threshold`).
"""
_RUN = re.compile(r"(.{1,24}?)\1{4,}\s*")


def is_runaway(text: str) -> bool:
    """Return True if a text repeats itself so much that no one can have said it: "um" as a row of m's."""
    data = text.encode()
    return len(data) > _RUNAWAY_COMPRESSION * len(zlib.compress(data))


def without_runs(text: str) -> str:
    """Return a text with one of each five or more equal parts in a row."""
    return _RUN.sub(r"\1 ", text).strip()


_REPEATED_WORDS = 5
"""Length of a repeated run of words that shows a loop."""


def has_repetition(text: str) -> bool:
    """Return True if five consecutive words occur twice, as from a model in a repetition loop."""
    words = [word_key(word) for word in text.split()]
    runs = [tuple(words[at : at + _REPEATED_WORDS]) for at in range(len(words) - _REPEATED_WORDS + 1)]
    return len(set(runs)) < len(runs)
