"""Variants of the templates' questions: paraphrases, and recognition errors.

No held-out template can generate any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count, islice
from random import Random

from examples.hotel_model.data.catalogue import catalogue
from examples.hotel_model.data.exchanges import Caller, Exchange
from examples.hotel_model.data.labelled import is_held_out
from examples.hotel_model.training.paraphrases import Thesaurus, paraphrases
from examples.hotel_model.training.semantics import common_words, embed
from examples.hotel_model.training.transcripts import TRANSCRIPTS, draws, misheard

EXCHANGED_WORDS = 20_000
"""Number of most common words that may replace each other."""

_REWORDED = 62_000  # exchanges; also the seed they are made with
_REWORDED_FOLLOW_UPS = 12_000  # the same of follow-ups
_REWORDED_OUTSIDE = 8_000  # the same from outside the world
_MISHEARD_TIMES = 4  # how often each misheard question stands among the others
_SAID_BACK = ("room", "stay", "people", "long", "day", "time", "date")  # slots whose words answers repeat


@cache
def variants() -> tuple[Exchange, ...]:
    """Return paraphrased questions (standalone, follow-ups, outside the world), and misrecognized
    questions.
    """
    alone = _reworded(Caller.alone, _REWORDED)
    follow_ups = _reworded(Caller.any_follow_up, _REWORDED_FOLLOW_UPS)
    outside = _reworded(Caller.alone_often_outside, _REWORDED_OUTSIDE, "outside.")
    asked = misheard(_fixed(), draws(), TRANSCRIPTS)
    transcribed = tuple(each for each in asked if not is_held_out(each.question))
    return (*alone, *follow_ups, *outside, *transcribed * _MISHEARD_TIMES)


def _reworded(draw: Callable[[Caller], Exchange], number: int, intents: str = "") -> tuple[Exchange, ...]:
    """Return `number` paraphrased exchanges of `draw`. intents: prefix of the wanted intents' names."""
    caller = Caller("train", Random(number))
    said = paraphrases((draw(caller) for _ in count()), _fixed(), _thesaurus(), embed, number)
    wanted = (each for each in said if each.intent.startswith(intents) and not is_held_out(each.question))
    return tuple(islice(wanted, number))


@cache
def _thesaurus() -> Thesaurus:
    return Thesaurus(common_words(EXCHANGED_WORDS), embed)


@cache
def _fixed() -> frozenset[str]:
    """Return the words that answers repeat, which must not change."""
    values = catalogue().slot_values("train")
    return frozenset(word for slot in _SAID_BACK for value in values[slot] for word in value.split())
