"""Dictation in groups with pauses: what the agent asked for, and whether it is complete."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from voiceagent.conversation.end_of_turn.language import OpenWords, TurnEndLanguage, asking_features
from voiceagent.conversation.end_of_turn.moment import without_moments
from voiceagent.conversation.words import last_sentence, words_of
from voiceagent.text_normalization.spoken_digits import digits_of, trailing_digits

DIGITS_IN_A_ROW = 3
"""Consecutive digits that count as a dictated number although the agent asked for none."""
WHOLE_NUMBERS = (7, 10, 11)
"""Possible digits of a complete number that the agent did not ask for. A requested number of unknown length
may have any of these but the fewest.
"""
MAX_UNPAUSED_DIGITS = 4
"""Maximum digits of a room, flight, road or year, which are said without a pause."""
MIN_GROUPED_DIGITS = 5
"""Digits from which a number is said in groups of at least two."""
MIN_REQUEST_LOG_ODDS = 3.0
"""Minimum log-odds for a sentence with such a short number to be a request."""
ACCOUNT_DIGITS = range(6, 10)
"""Digits with which a requested number of unknown length may be complete."""
PAUSE_FACTOR, GROUP_PAUSE_S = 2.0, 0.4
"""A pause before the next group lasts up to this multiple of the caller's longest, plus the seconds."""
MIN_GROUP_PAUSE_S = 1.0
"""Minimum pause that is granted before the next group."""
MIN_SPELLED_LETTERS = 2
"""Single letters at the end of a text that count as spelling."""

NEWEST_WORDS = 8
"""Words at the end of a text in which digits or letters are a dictation that may continue."""
_ONE_LETTER_WORDS = frozenset("aeiouy")
"""Letters that are a word in a language here, unlike a single consonant."""

Completeness = Literal["whole", "nearly", "grouped", "open"]

_CLOCK = re.compile(r"\b\d{1,2}:\d\d\W*$")


def dictation(
    agent: str, by_code: tuple[int, ...] | None, language: TurnEndLanguage | None
) -> tuple[int, ...] | None:
    """Return the possible digits of what is dictated, because the agent's code or last sentence asks for it;
    empty for a name or the like, None without dictation.

    agent: its latest text. by_code: lengths from the agent's code, None for none.
    """
    if by_code is not None or language is None:
        return by_code
    asked, open_words = last_sentence(agent), language.open_words
    wanted = open_words.dictated.intersection(asked)
    if not wanted or not is_asked(agent, open_words):
        return None
    if wanted <= open_words.numbers and not open_words.short.isdisjoint(asked):
        return None
    return tuple({length for word in asked for length in open_words.lengths.get(word, ())})


def asks_for_number(agent: str, by_code: tuple[int, ...] | None, language: TurnEndLanguage | None) -> bool:
    """Return True if the caller is to say a number without letters, a count or a time of day. agent, by_code:
    see `dictation`.
    """
    if by_code is not None or language is None:
        return bool(by_code)
    asked, open_words = last_sentence(agent), language.open_words
    if not is_asked(agent, open_words) or not open_words.lettered.isdisjoint(asked):
        return False
    known = open_words.counted | open_words.numbers | open_words.lengths.keys()
    return not known.isdisjoint(asked)


def is_asked(agent: str, open_words: OpenWords) -> bool:
    """Return True if the agent's last sentence is a question or request."""
    return agent.rstrip().endswith("?") or _is_request(last_sentence(agent), open_words)


def _is_request(words: tuple[str, ...], open_words: OpenWords) -> bool:
    """Return True if a sentence requests speech from the caller."""
    places = (at for at, word in enumerate(words) if word in open_words.requests)
    return any(open_words.subjects.isdisjoint(words[:at]) for at in places)


def number_completeness(
    sentences: Sequence[tuple[str, ...]],
    lengths: tuple[int, ...] | None,
    pauses: int,
    language: TurnEndLanguage,
) -> Completeness | None:
    """Return the completeness of the number at the end of the sentences; None if there is none, or too few
    digits for a dictated one.

    "whole": it has all its digits. "nearly": one too few or too many, as a word was misheard. "grouped": its
    length is unknown, and it is long enough for any of its groups to be the last. "open": more is to come.
    lengths: possible digits, see `dictation`. pauses: pauses of the caller within it. Recognizers end a
    sentence at a pause, so a number may span several.
    """
    words = without_moments(sentences, language)
    closing = _closing_length(words, language.open_words)
    words = words[: len(words) - closing]
    digits = (
        _trailing_digit_count(words, language.open_words)
        if lengths is None
        else _dictated_digit_count(words, language)
    )
    if not digits or (digits < DIGITS_IN_A_ROW and lengths is None):
        return None
    if closing:
        return "whole"
    if lengths == () and digits in ACCOUNT_DIGITS:
        return "grouped"
    known = lengths or WHOLE_NUMBERS
    if digits in known or digits > max(known):
        return "whole"
    # a caller who pauses after every digit may do so before the last one
    in_groups = pauses * 2 <= digits
    return "nearly" if lengths and in_groups and _ends_no_group(digits, lengths) else "open"


def spelled(text: str, agent: str, language: TurnEndLanguage | None) -> bool | None:
    """Return True if a text ends with letters that the agent asked for; None if it asked for none."""
    if language is None:
        return None
    open_words = language.open_words
    if open_words.spelled.isdisjoint(last_sentence(agent)) or not is_asked(agent, open_words):
        return None
    newest = words_of(text)[-MIN_SPELLED_LETTERS:]
    return len(newest) == MIN_SPELLED_LETTERS and all(len(word) == 1 and word.isalpha() for word in newest)


def may_be_dictated(text: str, language: str) -> bool:
    """Return True if the newest words have digits, spelled letters or the sign of an e-mail address, whether
    the agent asked for them or not. language: an ISO 639 code.
    """
    words = words_of(text)[-NEWEST_WORDS:]
    if any(character.isdigit() for word in words for character in word):
        return True
    if len(digits_of(" ".join(words), language)) > 1:  # not one alone: "the one that"
        return True
    letters = [len(word) == 1 and word.isalpha() for word in words]
    if any(letter and word not in _ONE_LETTER_WORDS for letter, word in zip(letters, words, strict=True)):
        return True
    return any(map(all, pairwise(letters))) or "@" in text


def announces_dictation(text: str, language: TurnEndLanguage | None) -> bool:
    """Return True if the newest words name what is usually dictated: "the number of my booking is"."""
    return language is not None and not language.open_words.dictated.isdisjoint(
        words_of(text)[-NEWEST_WORDS:]
    )


def group_pause_s(longest_pause_s: float) -> float:
    """Return the maximum pause before the next group of a number, or of letters, in seconds. longest_pause_s:
    the longest so far, 0 for none.
    """
    return max(MIN_GROUP_PAUSE_S, PAUSE_FACTOR * longest_pause_s + GROUP_PAUSE_S)


def is_said_at_once(text: str, asked: bool, language: TurnEndLanguage) -> bool:
    """Return True if the undictated digits at the end of a text are not a group of a longer number.

    They are a time of day, or so few that they answer a question, or the number of a room or the like in a
    question or request about no number to be written down ("Which gate has flight 815?"). asked: the agent
    asked for something before.
    """
    if _CLOCK.search(text):
        return True
    words, open_words = last_sentence(text), language.open_words
    if not words or _trailing_digit_count(words, open_words) > MAX_UNPAUSED_DIGITS:
        return False
    if not (open_words.dictated | open_words.dialled).isdisjoint(words):
        return False
    # digits alone are no question, whatever punctuation the recognizer adds
    if asked or (text.rstrip().endswith("?") and _trailing_digit_count(words[:1], open_words) == 0):
        return True
    if language.asks is None:
        return False
    return language.asks.logit(asking_features(words, asked=False)) >= MIN_REQUEST_LOG_ODDS


def _closing_length(words: Sequence[str], open_words: OpenWords) -> int:
    """Return the length in words of a closing phrase at the end ("that's it"), 0 if there is none."""
    ends = (at for at in range(len(words)) if tuple(words[at:]) in open_words.closings)
    return len(words) - next(ends, len(words))


def _ends_no_group(digits: int, lengths: tuple[int, ...]) -> bool:
    """Return True if there is one digit more or fewer than the number may have, and a spoken group cannot end
    there.

    Pairs do not end there in a number of even length, and callers do not pause before a single last digit.
    """
    fewer = any(digits == length - 1 and length % 2 == 0 for length in lengths)
    more = any(digits == length + 1 for length in lengths)
    return digits >= MIN_GROUPED_DIGITS and (fewer or more)


def _trailing_digit_count(words: Sequence[str], open_words: OpenWords) -> int:
    """Return the number of digits at the end, said one by one or written together."""
    digits = 0
    for word in reversed(words):
        if word.isdigit():
            digits += len(word)
        elif word in open_words.digits:
            digits += 1
        else:
            break
    return digits


def _dictated_digit_count(words: Sequence[str], language: TurnEndLanguage) -> int:
    """Return the number of digits at the end where a number is expected.

    "forty two" counts as two digits, and so do "double one" and "one for". Other words do not end the number
    while they are in the minority: recognizers mishear digits.
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
