"""Detects responses that repeat themselves, as small models do: "or please bring your passport, or"."""

from __future__ import annotations

from voiceagent.conversation.words import words_of

MIN_WORDS = 3
"""Minimum words of a run: shorter ones may be repeated ("no, no, no")."""
MAX_WORDS = 60
"""Maximum words of a run."""
TWICE_WORDS = 8
"""A run of at least this many words repeats at its second occurrence, a shorter one at its third."""
MIN_DIFFERENT = 3
"""Minimum different words of a run: numbers often have one digit many times."""


class RepetitionGuard:
    """Detector of repetition in a growing text."""

    def __init__(self) -> None:
        self._text = ""
        self._words: list[str] = []
        self._places: dict[str, list[int]] = {}  # positions of each word

    def push(self, text: str) -> bool:
        """Append text. Return True if the response now ends with a repeated run of words."""
        self._text += text
        whole, space, rest = self._text.rpartition(" ")
        if not space:
            return False
        self._text = rest
        return any(self._push_word(word) for word in words_of(whole))

    def _push_word(self, word: str) -> bool:
        """Append a word. Only lengths at which a run would end with the same word twice are compared."""
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
