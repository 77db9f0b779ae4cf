"""Detects callers who ask for a moment: "Hold on, let me get my card." """

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.conversation.end_of_turn.language import OpenWords, TurnEndLanguage
from voiceagent.conversation.words import phrase_length_at

SENTENCES = 2
"""Number of the newest sentences that may ask for it together: "Hold on. Let me get my card." """


def asks_for_moment(sentences: Sequence[tuple[str, ...]], language: TurnEndLanguage | None) -> bool:
    """Return True if the newest sentences of a turn ask for a moment, and for nothing else."""
    if language is None:
        return False
    newest = (sentences[-count:] for count in range(1, min(SENTENCES, len(sentences)) + 1))
    return any(_asks([word for words in part for word in words], language.open_words) for part in newest)


def without_moments(sentences: Sequence[tuple[str, ...]], language: TurnEndLanguage | None) -> list[str]:
    """Return all words of the sentences, without the phrases for a moment at their beginnings: "One moment.
    Four two" has two digits, not three.
    """
    moments = frozenset() if language is None else language.open_words.moments
    return [word for words in sentences for word in words[phrase_length_at(words, 0, moments) :]]


def _asks(words: Sequence[str], open_words: OpenWords) -> bool:
    at, asked = 0, False
    while at < len(words):
        found = phrase_length_at(words, at, open_words.moments)
        if not found and asked and phrase_length_at(words, at, open_words.meanwhile):
            return True
        if not found and words[at] not in open_words.courtesies:
            return False
        asked, at = asked or found > 0, at + max(found, 1)
    return asked
