"""Everyday sentences that are not meant for the hotel, with times, numbers, requests and commands in them.

They are declined, and no tool is called. Forms and values of the evaluation occur in no training sentence.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from examples.hotel_model.data.catalogue import Split, catalogue
from examples.hotel_model.data.conversations import as_received
from examples.hotel_model.data.exchanges import Caller, Context, Exchange
from examples.hotel_model.data.request_slots import a_place, a_time
from examples.hotel_model.data.templates import expand, slots_of

INTENT = "outside.everyday"
_TIMES_ASKED = 2  # each form of the evaluation
_CHANGED = 0.3  # of the sentences, where there are words
_COMMON = 3000  # the mean rank of those
_FOLLOWS = 3  # of so many one comes after a question about the hotel
_HOLE = re.compile(r"\[(\w+)\]")


@dataclass(frozen=True)
class Unasked:
    """A sentence that requests nothing. words: lower-case words. messages: earlier turns, and
    itself as sent to the model.
    """

    words: str
    messages: tuple[Mapping[str, Any], ...]


class Everyday:
    """Generator of sentences with the forms and values of one split. words: by frequency; some sentences get
    one of them as a replacement. values: of the slots, by split.
    """

    def __init__(self, split: Split, rng: Random, words: Sequence[str] = ()) -> None:
        self._split, self._rng, self._words = split, rng, words
        self.forms: list[str] = _table()["everyday"][split]
        self.values: Mapping[str, Mapping[Split, list[str]]] = _table()["slots"]

    def exchange(self) -> Exchange:
        """Return a sentence and its refusal."""
        declined = catalogue().outside["decline"]
        text = self._changed(self.sentence(self._rng.choice(self.forms)))
        return Exchange(INTENT, text, declined.answer, declined.must, Context(answer=declined.answer))

    def _changed(self, text: str) -> str:
        if not self._words or self._rng.random() >= _CHANGED:
            return text
        said = text.split()
        rank = int(self._rng.expovariate(1 / _COMMON))
        said[self._rng.randrange(len(said))] = self._words[min(rank, len(self._words) - 1)]
        return " ".join(said)

    def sentence(self, form: str) -> str:
        """Return a sentence of a form; a slot that occurs twice gets two values."""
        holes = {name: f"[{name}]" for name in slots_of(form)}
        text = expand(form, self._rng, catalogue().lexicon, holes)
        return _HOLE.sub(lambda hole: self._value(hole[1]), text)

    def _value(self, slot: str) -> str:
        if slot == "at":
            return a_time(self._split, self._rng)
        if slot == "place":
            return a_place(self._split, self._rng)
        return self._rng.choice(self.values[slot][self._split])


@cache
def unasked() -> tuple[Unasked, ...]:
    """Return the sentences of the evaluation, without duplicates; deterministic."""
    rng = Random("unasked")
    return tuple({item.words: item for item in _items(rng)}.values())


def _items(rng: Random) -> Iterator[Unasked]:
    everyday, caller = Everyday("heldout", rng), Caller("heldout", rng)
    for number, form in enumerate(everyday.forms * _TIMES_ASKED):
        words = everyday.sentence(form)
        said = {"role": "user", "content": as_received(words, "", rng)}
        yield Unasked(words, (*(_before(caller) if number % _FOLLOWS == 0 else ()), said))


def _before(caller: Caller) -> tuple[Mapping[str, Any], ...]:
    asked = caller.aspect(caller.rng.choice(caller.aspects))
    return ({"role": "user", "content": asked.question}, {"role": "assistant", "content": asked.answer})


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files(__package__) / "intents" / "everyday.toml").read_text())
