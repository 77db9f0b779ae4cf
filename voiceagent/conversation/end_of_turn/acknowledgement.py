"""Detects turns that only acknowledge what the agent said, and may go on: "Sure." to "What is your name?" """

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from voiceagent.conversation.end_of_turn.dictation import is_asked
from voiceagent.conversation.end_of_turn.language import OpenWords, TurnEndLanguage
from voiceagent.conversation.words import last_sentence, phrase_length_at, words_of

MAX_WORDS = 8
"""Words of the longest acknowledgement: "Oh, sure, yes, of course, no problem." """

Acknowledged = Literal["question", "statement"]


def acknowledged(text: str, agent: str, language: TurnEndLanguage | None) -> Acknowledged | None:
    """Return what a turn only acknowledges: a question or request that asks for more than a yes, or a
    statement; None if it says more, or answers. agent: its latest text before the turn.
    """
    words = words_of(text)
    if language is None or not agent or not words or len(words) > MAX_WORDS:
        return None
    open_words = language.open_words
    if not is_asked(agent, open_words):
        phrases = open_words.acknowledgements | open_words.remarks
        return "statement" if _consists_of(words, phrases) else None
    asks_for_more = _asks_for_more(last_sentence(agent), open_words)
    return "question" if asks_for_more and _consists_of(words, open_words.acknowledgements) else None


def _consists_of(words: Sequence[str], phrases: frozenset[tuple[str, ...]]) -> bool:
    at = 0
    while at < len(words) and (length := phrase_length_at(words, at, phrases)):
        at += length
    return at == len(words)


def _asks_for_more(words: Sequence[str], open_words: OpenWords) -> bool:
    """Return True if "yes" does not answer this question."""
    if words[-1] in open_words.tags:  # "I have Miller, which is spelled with two Ls, right?"
        return False
    for at, word in enumerate(words):
        if phrase_length_at(words, at, open_words.proposals):
            return False
        if phrase_length_at(words, at, open_words.open_questions):
            return True
        if word in open_words.inversions:  # "Is that what you wanted?"
            return False
    return False
