"""The agent's own voice, come back as an echo and recognized as a turn of the caller.

An echo has the words that the agent is just saying. A caller who repeats words has listened to them first:
their voice begins after the last of these words.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

from voiceagent.conversation.words import words_of

REACTION_S = 0.2
"""Least time after which people react to a word. An echo begins sooner after its last word."""
MAX_DELAY_S = 0.7
"""Longest delay of an echo on a line whose delay was not measured, and error of a position in a text."""
_DELAY_ERROR_S = 0.3
"""Error of a position in a text where the delay was measured: words without timings go by letters."""
_MIN_SHARE = 0.7
"""Least share of the letters that the agent said too: an echo is cut at both ends, and misheard there."""
_MIN_LETTERS = 3
"""Letters in a row that count as the same; fewer are the same by chance."""


class PlayedWords(Protocol):
    """The text of a response against its audio."""

    def text_until(self, played_s: float) -> str:
        """Return the text of the first `played_s` seconds of audio, of all for infinity."""
        ...


@dataclass(frozen=True, slots=True)
class Overlap:
    """A voice over a response. played_s: seconds of the response that were played when the voice began.
    delay_s: of the line's echo; None if none was measured.
    """

    response: PlayedWords
    played_s: float
    delay_s: float | None = None

    def is_echo(self, text: str, voiced_s: float) -> bool:
        """Return True if these words are the agent's. voiced_s: its length, infinite if it goes on."""
        heard = words_of(text)
        # one word may be the caller's own choice of those that the agent offers
        if len(heard) < (2 if self.delay_s is None else 1):
            return False
        error_s = MAX_DELAY_S if self.delay_s is None else _DELAY_ERROR_S
        began_s = self.played_s - (self.delay_s or 0.0)
        before = len("".join(words_of(self.response.text_until(began_s - error_s))))
        said = "".join(words_of(self.response.text_until(began_s + voiced_s + error_s)))
        listened = len("".join(words_of(self.response.text_until(began_s - REACTION_S))))
        letters, said = "".join(heard), said[before:]
        matches = SequenceMatcher(None, letters, said, autojunk=False).get_matching_blocks()
        least = min(_MIN_LETTERS, len(letters))
        same = [match for match in matches if match.size >= least]
        if sum(match.size for match in same) < _MIN_SHARE * len(letters):
            return False
        return before + same[-1].b + same[-1].size > listened
