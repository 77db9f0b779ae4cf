"""What callers say beside the templates: training questions with other words, and as they are misheard.

None of it can be said by a held-out template.
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
"""How many of the commonest words may take each other's places."""

_REWORDED = 62_000  # exchanges; also the seed they are made with
_REWORDED_FOLLOW_UPS = 12_000  # the same of follow-ups
_REWORDED_OUTSIDE = 8_000  # the same from outside the world
_MISHEARD_TIMES = 4  # how often each misheard question stands among the others
_SAID_BACK = ("room", "stay", "people", "long", "day", "time", "date")  # slots whose words answers repeat


@cache
def variants() -> tuple[Exchange, ...]:
    """Questions that need no history, follow-ups on a topic and more from outside the world with other words,
    and questions as they are misheard."""
    alone = _reworded(Caller.alone, _REWORDED)
    follow_ups = _reworded(Caller.any_follow_up, _REWORDED_FOLLOW_UPS)
    outside = _reworded(Caller.alone_often_outside, _REWORDED_OUTSIDE, "outside.")
    asked = misheard(_fixed(), draws(), TRANSCRIPTS)
    transcribed = tuple(each for each in asked if not is_held_out(each.question))
    return (*alone, *follow_ups, *outside, *transcribed * _MISHEARD_TIMES)


def _reworded(draw: Callable[[Caller], Exchange], number: int, intents: str = "") -> tuple[Exchange, ...]:
    """`number` of the exchanges that `draw` gives, in other words. intents: what the wanted intents' names
    begin with."""
    caller = Caller("train", Random(number))
    said = paraphrases((draw(caller) for _ in count()), _fixed(), _thesaurus(), embed, number)
    wanted = (each for each in said if each.intent.startswith(intents) and not is_held_out(each.question))
    return tuple(islice(wanted, number))


@cache
def _thesaurus() -> Thesaurus:
    return Thesaurus(common_words(EXCHANGED_WORDS), embed)


@cache
def _fixed() -> frozenset[str]:
    """The words that answers say back: they stay."""
    values = catalogue().slot_values("train")
    return frozenset(word for slot in _SAID_BACK for value in values[slot] for word in value.split())
