"""What was played of a response: positions in its sound mapped to its text, cut at a word. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from audio.synthesizers import Speech, WordTiming
from voiceagent.conversation.fragments import Fragment

CHARACTER_S = 0.08
"""Sound of a spoken character, where nothing better is known: slow, so that rather too little is kept."""
_TRAILING = re.compile(r"[\W_]+$")


@dataclass(slots=True)
class _Part:
    """One fragment and what is known of its sound. character_samples: `CHARACTER_S` in samples."""

    fragment: Fragment
    character_samples: float
    samples: int = 0
    timings: list[WordTiming] = field(default_factory=list)
    complete: bool = False

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The beginnings of the words; a text that says nothing of them is one word."""
        return self.fragment.alignment or (((0, 0),) if self.fragment.spoken else ())

    def words_played(self, samples: int) -> int:
        """How many words the first `samples` samples hold; a word counts from the middle of its sound."""
        starts = [spoken for spoken, _ in self.pairs]
        if not starts:  # nothing of it is spoken
            return 0
        ends = [
            self._letters_end(start, end)
            for start, end in zip(starts, [*starts[1:], len(self.fragment.spoken)], strict=True)
        ]
        characters, positions = zip(*self._anchors(), strict=True)
        begins, stops = (np.interp(places, characters, positions) for places in (starts, ends))
        # the middle: who is interrupted in a long word has said it as far as the listener can tell
        played = sum(bool(middle <= samples) for middle in (begins + stops) / 2) if samples > 0 else 0
        if self.timings and not self.complete:  # a word without a time has not sounded
            played = min(played, sum(start <= self.timings[-1].character for start in starts))
        return played

    def text_of_words(self, words: int) -> str:
        """The text up to the end of that many words."""
        if words == len(self.pairs):
            return self.fragment.text
        return self.fragment.text[: self.pairs[words][1]] if words else ""

    def cut(self, words: int) -> None:
        """Forget all but the first words; the sound stays, and is complete."""
        end = self.pairs[words][0] if words < len(self.pairs) else len(self.fragment.spoken)
        self.fragment = Fragment(self.text_of_words(words), self.fragment.spoken[:end], self.pairs[:words])
        self.timings = [timing for timing in self.timings if timing.character < end]
        self.complete = True

    def _anchors(self) -> list[tuple[float, float]]:
        """Pairs (index in `spoken`, sample), ascending; between them sound and characters run in step."""
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
        """Where in `spoken` the pause begins that follows the words in `spoken[start:end]`.

        Half a character early, so that it never falls together with the beginning of the next word.
        """
        return start + max(1, len(_TRAILING.sub("", self.fragment.spoken[start:end]))) - 0.5


class PlayedText:
    """The text of one response against its sound.

    Where the engine gives no word timings, every character lasts as long as every other.
    rate_hz: rate of the sound that is added.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._parts: list[_Part] = []
        self.false_end = False

    @property
    def text(self) -> str:
        """All text so far, trailing white space left out."""
        return "".join(part.fragment.text for part in self._parts).rstrip()

    @property
    def sound_s(self) -> float:
        """Seconds of sound so far."""
        return sum(part.samples for part in self._parts) / self._rate_hz

    @property
    def awaits_sound(self) -> bool:
        """Whether there is a fragment whose sound is not complete."""
        return any(not part.complete for part in self._parts)

    def begin(self, fragment: Fragment) -> None:
        """The next fragment of the response; its sound follows."""
        self._parts.append(_Part(fragment, CHARACTER_S * self._rate_hz))

    def add(self, speech: Speech) -> None:
        """More sound of the oldest incomplete fragment. Raises ValueError where there is none."""
        part = self._incomplete()
        part.samples += len(speech.samples)
        part.timings += speech.words

    def complete_fragment(self) -> None:
        """The sound of the oldest incomplete fragment is complete. Raises ValueError where there is none."""
        self._incomplete().complete = True

    def drop_unspoken(self) -> None:
        """Nothing more will be spoken: forget text without sound, end a fragment cut short at its sound."""
        for part in self._parts:
            if not part.complete:
                part.cut(part.words_played(part.samples))
        self._parts = [part for part in self._parts if part.fragment.text or part.samples]

    def disregard(self) -> None:
        """It should not have begun: nothing of it counts as played, whatever has sounded."""
        self.false_end = True

    def played(self, played_s: float) -> str:
        """The text up to the last word of which half or more was in the first `played_s` seconds of sound."""
        if self.false_end:
            return ""
        left = round(played_s * self._rate_hz)
        text = unsounded = ""
        for part in self._parts:
            if not part.fragment.spoken:  # played with what sounds before it
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
