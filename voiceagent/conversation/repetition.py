"""A reply that falls into repeating itself, as small models do: "or please bring your passport, or". Pure."""

from __future__ import annotations

from voiceagent.conversation.words import words_of

MIN_WORDS = 3
"""A shorter run of words may be repeated: "no, no, no"."""
MAX_WORDS = 60
"""The longest run that is looked for."""
TWICE_WORDS = 8
"""A run as long as that repeats when it is said twice, a shorter one when it is said three times."""
MIN_DIFFERENT = 3
"""A run has at least so many different words: numbers often have one digit many times."""


class RepetitionGuard:
    """Reads a reply as it is written."""

    def __init__(self) -> None:
        self._text = ""
        self._words: list[str] = []
        self._places: dict[str, list[int]] = {}  # of each word

    def repeats(self, text: str) -> bool:
        """Take the next piece; whether the reply ends with a run of words that was just said."""
        self._text += text
        whole, space, rest = self._text.rpartition(" ")
        if not space:
            return False
        self._text = rest
        return any(self._repeats(word) for word in words_of(whole))

    def _repeats(self, word: str) -> bool:
        """Take the next word. A run that it ends ended with it before: only such lengths are looked at."""
        words, places = self._words, self._places.setdefault(word, [])
        words.append(word)
        places.append(len(words) - 1)
        for place in reversed(places[:-1]):
            length = places[-1] - place
            if length > min(MAX_WORDS, len(words) // 2):
                break
            if length < MIN_WORDS:
                continue
            run, times = words[-length:], 2 if length >= TWICE_WORDS else 3
            said = [words[-length * (back + 1) : -length * back] for back in range(1, times)]
            if all(one == run for one in said) and len(set(run)) >= MIN_DIFFERENT:
                return True
        return False
