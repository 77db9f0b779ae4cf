"""What the caller is to dictate, in groups with pauses in between, and whether it is whole. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from voiceagent.conversation.end_of_turn.language import OpenWords, TurnEndLanguage, asking_features
from voiceagent.conversation.end_of_turn.moment import beside_moments
from voiceagent.conversation.words import last_sentence, words_of
from voiceagent.text_normalization.spoken_digits import digits_of, trailing_digits

DIGITS_IN_A_ROW = 3
"""This many digits one after the other are a number that is dictated, though nobody asked for one."""
WHOLE_NUMBERS = (7, 10, 11)
"""How many digits a whole number that nobody asked for may have. A number that was asked for, but whose
length nobody knows, may have all of these but the fewest.
"""
SAID_AT_ONCE = 4
"""Up to this many digits are a room, a flight, a road or a year, which are said without a pause."""
IN_GROUPS = 5
"""From this many digits on, a number is said in groups of at least two."""
ASKS_FOR = 3.0
"""Logarithm of the odds from which on a sentence with so short a number asks for something."""
ACCOUNT_DIGITS = range(6, 10)
"""With this many digits a number that was asked for, but whose length nobody knows, may be whole."""
OWN_PAUSES, GROUP_PAUSE_S = 2.0, 0.4
"""Before another group a caller may pause for this many times his longest so far, and so much longer."""
LEAST_GROUP_PAUSE_S = 1.0
"""A caller may pause for at least this long, also one who has not paused yet."""
LETTERS = 2
"""This many letters at the end of a text, one by one, are a word that is spelled."""

Wholeness = Literal["whole", "nearly", "grouped", "open"]

_CLOCK = re.compile(r"\b\d{1,2}:\d\d\W*$")


def dictation(
    agent: str, by_code: tuple[int, ...] | None, language: TurnEndLanguage | None
) -> tuple[int, ...] | None:
    """How many digits there may be in what is dictated, because the agent's code says so or its last sentence
    asks for it; empty for a name or the like, None where nothing is.

    agent: its latest words. by_code: what its code says, None for nothing.
    """
    if by_code is not None or language is None:
        return by_code
    asked, open_words = last_sentence(agent), language.open_words
    wanted = open_words.dictated.intersection(asked)
    if not wanted or not _asks(agent, open_words):
        return None
    if wanted <= open_words.numbers and not open_words.short.isdisjoint(asked):
        return None
    return tuple({length for word in asked for length in open_words.lengths.get(word, ())})


def asks_for_number(agent: str, by_code: tuple[int, ...] | None, language: TurnEndLanguage | None) -> bool:
    """Whether the caller is to say a number: one that has no letters, or how many there are of something, or
    the time. agent, by_code: as `dictation` has them.
    """
    if by_code is not None or language is None:
        return bool(by_code)
    asked, open_words = last_sentence(agent), language.open_words
    if not _asks(agent, open_words) or not open_words.lettered.isdisjoint(asked):
        return False
    known = open_words.counted | open_words.numbers | open_words.lengths.keys()
    return not known.isdisjoint(asked)


def _asks(agent: str, open_words: OpenWords) -> bool:
    """Whether the agent's last words ask for something, or request it."""
    return agent.rstrip().endswith("?") or _is_request(last_sentence(agent), open_words)


def _is_request(words: tuple[str, ...], open_words: OpenWords) -> bool:
    """Whether a sentence tells the caller to say something."""
    places = (at for at, word in enumerate(words) if word in open_words.requests)
    return any(open_words.subjects.isdisjoint(words[:at]) for at in places)


def wholeness(
    sentences: Sequence[tuple[str, ...]],
    lengths: tuple[int, ...] | None,
    pauses: int,
    language: TurnEndLanguage,
) -> Wholeness | None:
    """How complete the number is that the sentences end with; None where they end with none, or with too few
    digits for one that is dictated.

    "whole": it has all its digits. "nearly": one too few or too many, as a word was misheard. "grouped":
    nobody knows its length, and it is long enough for any of its groups to be the last. "open": more of it is
    to come. lengths: how many digits it may have, as `dictation` has it. pauses: how often the caller paused
    within it. A recognizer ends a sentence where the caller pauses, so that a number may go through several.
    """
    words = beside_moments(sentences, language)
    closing = _closing(words, language.open_words)
    words = words[: len(words) - closing]
    digits = _spoken_out(words, language.open_words) if lengths is None else _dictated(words, language)
    if not digits or (digits < DIGITS_IN_A_ROW and lengths is None):
        return None
    if closing:
        return "whole"
    if lengths == () and digits in ACCOUNT_DIGITS:
        return "grouped"
    known = lengths or WHOLE_NUMBERS
    if digits in known or digits > max(known):
        return "whole"
    # who pauses behind every digit may do so before the last one
    in_groups = pauses * 2 <= digits
    return "nearly" if lengths and in_groups and _ends_no_group(digits, lengths) else "open"


def spelled(text: str, agent: str, language: TurnEndLanguage | None) -> bool | None:
    """Whether a text ends with letters, which the agent has asked for; None where it has not."""
    if language is None:
        return None
    open_words = language.open_words
    if open_words.spelled.isdisjoint(last_sentence(agent)) or not _asks(agent, open_words):
        return None
    newest = words_of(text)[-LETTERS:]
    return len(newest) == LETTERS and all(len(word) == 1 and word.isalpha() for word in newest)


def group_pause_s(longest_pause_s: float) -> float:
    """How long a caller may pause before another group of a number, or of letters. longest_pause_s: of his
    pauses in it so far, 0 where there were none."""
    return max(LEAST_GROUP_PAUSE_S, OWN_PAUSES * longest_pause_s + GROUP_PAUSE_S)


def is_said_at_once(text: str, asked: bool, language: TurnEndLanguage) -> bool:
    """Whether the digits that a text ends with, which nobody wanted dictated, are not a group of a longer
    number: they are a time of day, or so few that they answer a question, or the number of a room or the like
    in a question or request that speaks of no number to be written down ("Which gate has flight 815?").

    asked: the agent asked for something before it.
    """
    if _CLOCK.search(text):
        return True
    words, open_words = last_sentence(text), language.open_words
    if not words or _spoken_out(words, open_words) > SAID_AT_ONCE:
        return False
    if not (open_words.dictated | open_words.dialled).isdisjoint(words):
        return False
    # digits alone are no question, whatever mark the recognizer puts behind them
    if asked or (text.rstrip().endswith("?") and _spoken_out(words[:1], open_words) == 0):
        return True
    if language.asks is None:
        return False
    return language.asks.logit(asking_features(words, asked=False)) >= ASKS_FOR


def _closing(words: Sequence[str], open_words: OpenWords) -> int:
    """How many words at the end say that nothing follows: "that's it"."""
    ends = (at for at in range(len(words)) if tuple(words[at:]) in open_words.closings)
    return len(words) - next(ends, len(words))


def _ends_no_group(digits: int, lengths: tuple[int, ...]) -> bool:
    """Whether there is one digit more or fewer than the number may have, and no group that people say can end
    there: pairs do not end there in a number of even length, and nobody goes on for a single digit behind a
    whole number.
    """
    fewer = any(digits == length - 1 and length % 2 == 0 for length in lengths)
    more = any(digits == length + 1 for length in lengths)
    return digits >= IN_GROUPS and (fewer or more)


def _spoken_out(words: Sequence[str], open_words: OpenWords) -> int:
    """How many digits the words end with, said one by one or written together."""
    digits = 0
    for word in reversed(words):
        if word.isdigit():
            digits += len(word)
        elif word in open_words.digits:
            digits += 1
        else:
            break
    return digits


def _dictated(words: Sequence[str], language: TurnEndLanguage) -> int:
    """The same where a number is expected: "forty two" counts as two digits, and so do "double one" and "one
    for". Other words do not end the number as long as they are the fewer: recognizers mishear digits.
    """
    heard: list[str] = []
    for word in words:
        follows = bool(heard) and bool(trailing_digits(heard[-2:], language.code))
        heard.append("0" if follows and word in language.open_words.misheard_digits else word)
    numbers = [bool(trailing_digits(heard[: at + 1], language.code)) for at in range(len(heard))]
    said = heard[numbers.index(True) :] if True in numbers else []
    if 2 * sum(numbers) >= len(said):
        return len(digits_of(" ".join(said), language.code))
    return len(trailing_digits(heard, language.code))
