"""Maps playback positions to text, cut at a word."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np

from audio.synthesizers import Speech, WordTiming
from voiceagent.conversation.fragments import Fragment

CHARACTER_S = 0.08
"""Assumed duration of a spoken character without better data: slow, so that too little rather than too much
text counts as played.
"""
_TRAILING = re.compile(r"[\W_]+$")


@dataclass(slots=True)
class _Part:
    """One fragment and the state of its audio. character_samples: `CHARACTER_S` in samples."""

    fragment: Fragment
    character_samples: float
    samples: int = 0
    timings: list[WordTiming] = field(default_factory=list)
    complete: bool = False

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The beginnings of the words; a text without alignment is one word."""
        return self.fragment.alignment or (((0, 0),) if self.fragment.spoken else ())

    def words_played(self, samples: int) -> int:
        """Return the number of words in the first `samples` samples; a word counts from its middle."""
        starts = [spoken for spoken, _ in self.pairs]
        if not starts:  # no spoken text
            return 0
        ends = [
            self._letters_end(start, end)
            for start, end in zip(starts, [*starts[1:], len(self.fragment.spoken)], strict=True)
        ]
        characters, positions = zip(*self._anchors(), strict=True)
        begins, stops = (np.interp(places, characters, positions) for places in (starts, ends))
        # the middle: a long word that was interrupted counts as said
        played = sum(bool(middle <= samples) for middle in (begins + stops) / 2) if samples > 0 else 0
        if self.timings and not self.complete:  # a word without a timing was not synthesised yet
            played = min(played, sum(start <= self.timings[-1].character for start in starts))
        return played

    def text_of_words(self, words: int) -> str:
        """Return the text up to the end of that many words."""
        if words == len(self.pairs):
            return self.fragment.text
        return self.fragment.text[: self.pairs[words][1]] if words else ""

    def cut(self, words: int) -> None:
        """Drop all but the first words; the audio stays, and is complete."""
        end = self.pairs[words][0] if words < len(self.pairs) else len(self.fragment.spoken)
        self.fragment = Fragment(self.text_of_words(words), self.fragment.spoken[:end], self.pairs[:words])
        self.timings = [timing for timing in self.timings if timing.character < end]
        self.complete = True

    def _anchors(self) -> list[tuple[float, float]]:
        """Return pairs (index in `spoken`, sample), ascending. Between them interpolation is linear."""
        length = len(self.fragment.spoken)
        if not self.timings:
            slowest = length * self.character_samples
            return [(0, 0.0), (length, float(self.samples) if self.complete else max(slowest, self.samples))]
        last = self.timings[-1]
        rest = (length - last.character) * self.character_samples
        end = WordTiming(length, self.samples if self.complete else last.at_samples + round(rest))
        anchors: list[tuple[float, float]] = []
        for timing, following in zip(self.timings, [*self.timings[1:], end], strict=True):
            letters_end = self._letters_end(timing.character, following.character)
            longest = (letters_end - timing.character) * self.character_samples
            anchors.append((timing.character, timing.at_samples))
            anchors.append((letters_end, min(following.at_samples, timing.at_samples + longest)))
        return [*anchors, (length, end.at_samples)]

    def _letters_end(self, start: int, end: int) -> float:
        """Return where in `spoken` the pause begins that follows the words in `spoken[start:end]`.

        Half a character early, so that it never coincides with the beginning of the next word.
        """
        return start + max(1, len(_TRAILING.sub("", self.fragment.spoken[start:end]))) - 0.5


class PlayedText:
    """The text of one response against its audio.

    Without word timings of the engine, all characters last equally long. rate_hz: sample rate of the added
    audio.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._parts: list[_Part] = []
        self.filler = ""
        self._before_apology: str | None = None
        self.false_end = False

    @property
    def text(self) -> str:
        """All text so far, without trailing white space."""
        return "".join(part.fragment.text for part in self._parts).rstrip()

    @property
    def own_text(self) -> str:
        """The text without the filler."""
        return self.without_filler(self.text.strip())

    @property
    def sound_s(self) -> float:
        """Seconds of audio so far."""
        return sum(part.samples for part in self._parts) / self._rate_hz

    @property
    def awaits_audio(self) -> bool:
        """True if the audio of a fragment is incomplete."""
        return any(not part.complete for part in self._parts)

    def add(self, fragment: Fragment, is_filler: bool, is_apology: bool) -> None:
        """Add a fragment at its place in the response."""
        if is_filler:
            self.filler = fragment.text.strip()  # before the text, none of which has audio yet
            self._parts.insert(0, _Part(fragment, CHARACTER_S * self._rate_hz))
        elif is_apology:
            self._before_apology = self.text.strip()
            self.add_fragment(fragment)
        else:
            self.add_fragment(fragment)

    def add_fragment(self, fragment: Fragment) -> None:
        """Append the next fragment of the response; its audio follows."""
        self._parts.append(_Part(fragment, CHARACTER_S * self._rate_hz))

    def apology_in(self, played: str) -> str:
        """Return the apology, or its beginning, at the end of a part of the text from its start on."""
        return "" if self._before_apology is None else played[len(self._before_apology) :].strip()

    def without_filler(self, played: str) -> str:
        """Return a part of the text, from its start on, without the filler."""
        return played[len(self.filler) :].strip()

    def add_audio(self, speech: Speech) -> None:
        """Append audio of the oldest incomplete fragment. Raises ValueError if there is none."""
        part = self._incomplete()
        part.samples += len(speech.samples)
        part.timings += speech.words

    def complete_fragment(self) -> None:
        """Complete the audio of the oldest incomplete fragment. Raises ValueError if there is none."""
        self._incomplete().complete = True

    def drop_unspoken(self) -> None:
        """Drop text without audio, and end a fragment that was cut short at its audio."""
        for part in self._parts:
            if not part.complete:
                part.cut(part.words_played(part.samples))
        self._parts = [part for part in self._parts if part.fragment.text or part.samples]

    def mark_false_end(self) -> None:
        """Count nothing as played: the response answered a false end of turn."""
        self.false_end = True

    def played(self, played_s: float) -> str:
        """Return the text up to the last word of which half or more is in the first `played_s` seconds."""
        return "" if self.false_end else self.text_until(played_s)

    def text_until(self, played_s: float) -> str:
        """Return the text of the first `played_s` seconds, even of a response that should not have begun."""
        if math.isinf(played_s):
            return self.text
        left = max(0, round(played_s * self._rate_hz))
        text = unsounded = ""
        for part in self._parts:
            if not part.fragment.spoken:  # played with the next spoken part
                unsounded += part.fragment.text
            else:
                words = part.words_played(left)
                text += unsounded + part.text_of_words(words) if words else ""
                unsounded = ""
                if words < len(part.pairs):
                    break
            left -= part.samples
        return (text + unsounded if text else "").rstrip()

    def _incomplete(self) -> _Part:
        for part in self._parts:
            if not part.complete:
                return part
        raise ValueError("every fragment of this response has all its sound")
