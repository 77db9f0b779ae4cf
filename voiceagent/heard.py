"""What of a reply the caller heard: positions in its sound mapped to its text, cut at a word. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from audio.synthesizers import Speech, WordTiming
from voiceagent.fragments import Fragment

_WORD = re.compile(r"\S+")


@dataclass(slots=True)
class _Part:
    """One fragment and what is known of its sound."""

    fragment: Fragment
    samples: int = 0
    words: list[WordTiming] = field(default_factory=list)
    complete: bool = False


class HeardText:
    """The text of one reply against its sound.

    A word counts as heard once its sound began to be played. rate_hz: rate of the sound that is added.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._parts: list[_Part] = []

    @property
    def text(self) -> str:
        """All text so far, trailing white space left out."""
        return "".join(part.fragment.text for part in self._parts).rstrip()

    @property
    def sound_s(self) -> float:
        """Seconds of sound so far."""
        return sum(part.samples for part in self._parts) / self._rate_hz

    def begin(self, fragment: Fragment) -> None:
        """The next fragment of the reply; its sound follows."""
        self._parts.append(_Part(fragment))

    def add(self, speech: Speech) -> None:
        """More sound of the oldest fragment whose sound is not complete. Raises ValueError where there is none."""
        part = self._incomplete()
        part.samples += len(speech.samples)
        part.words += speech.words

    def complete_fragment(self) -> None:
        """The sound of the oldest incomplete fragment is complete. Raises ValueError where there is none."""
        self._incomplete().complete = True

    def drop_unspoken(self) -> None:
        """Nothing more will be spoken: text without sound is forgotten, a fragment cut short ends at its sound."""
        for part in self._parts:
            if not part.complete:
                part.fragment = Fragment(_heard_of(part, part.samples), "", ())
                part.complete = True
        self._parts = [part for part in self._parts if part.fragment.text]

    def heard(self, heard_s: float) -> str:
        """The text whose sound lies in the first `heard_s` seconds, cut at a word."""
        left = round(heard_s * self._rate_hz)
        texts = []
        for part in self._parts:
            if part.complete and left >= part.samples:
                texts.append(part.fragment.text)
                left -= part.samples
                continue
            texts.append(_heard_of(part, left))
            break
        return "".join(texts).rstrip()

    def _incomplete(self) -> _Part:
        for part in self._parts:
            if not part.complete:
                return part
        raise ValueError("every fragment of this reply has all its sound")


def _heard_of(part: _Part, samples: int) -> str:
    """The text of a fragment of which the first `samples` samples were played."""
    text, spoken = part.fragment.text, part.fragment.spoken
    if samples <= 0 or part.samples == 0 or not spoken:
        return ""
    if part.words:
        count = bisect_right([word.at_samples for word in part.words], samples - 1)
        if count == 0:
            return ""
        position = part.words[count - 1].character
    else:
        # Without timings every character is taken to last as long as every other.
        position = int((len(spoken) - 1) * min(1.0, samples / max(1, part.samples)))
    return text[: _word_end(text, _text_index(part.fragment, position))]


def _text_index(fragment: Fragment, spoken_index: int) -> int:
    pairs = fragment.alignment
    place = bisect_right([spoken for spoken, _ in pairs], spoken_index) - 1
    return pairs[place][1] if place >= 0 else 0


def _word_end(text: str, index: int) -> int:
    for match in _WORD.finditer(text):
        if match.end() > index:
            return match.end()
    return len(text)
