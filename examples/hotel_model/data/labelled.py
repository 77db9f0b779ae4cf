"""The evaluation set: held-out questions with the facts their answers must contain.

Made deterministically from the held-out templates, which training never sees. A follow-up carries
the turns before it. Questions outside the world must be declined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from random import Random

from examples.hotel_model.data.catalogue import Aspect, catalogue
from examples.hotel_model.data.exchanges import DECLINES, Caller, Exchange
from examples.hotel_model.data.room_answers import ROOM_FOLLOW_UPS, ROOM_INTENTS
from examples.hotel_model.data.templates import pattern
from examples.hotel_model.data.typed import typed
from voiceagent.bench.scoring import Verdict, judge
from voiceagent.demo.world import ROOMS

_ALONE = 2  # questions an aspect, standing alone
_SWITCHES, _CORRECTIONS, _REPEATS = 36, 24, 8
_OUTSIDE = 80
_TYPED = 0.3


@dataclass(frozen=True)
class Labelled:
    """One question and what its answer must and must not say.

    words: the question as it is spoken, lower-case words. question: as it is written to the model.
    history: the turns before it, each (role, content). must: facts, "|" between alternatives.
    must_not: phrases that make it wrong. outside: it lies outside the world and must be declined.
    canonical: the answer of the training data.
    """

    intent: str
    words: str
    question: str
    history: tuple[tuple[str, str], ...]
    must: tuple[str, ...]
    must_not: tuple[str, ...]
    outside: bool
    canonical: str

    @property
    def follows_up(self) -> bool:
        """True if the question needs its history."""
        return bool(self.history)

    def judge(self, answer: str) -> Verdict:
        """Return the verdict on an answer by this question's facts."""
        return judge(answer, self.must, self.must_not)

    def messages(self, system: str) -> list[dict[str, str]]:
        """Return the chat to answer: system prompt, history, question."""
        turns = (("system", system), *self.history, ("user", self.question))
        return [{"role": role, "content": content} for role, content in turns]


@cache
def labelled_set() -> tuple[Labelled, ...]:
    """Return all labelled questions; deterministic."""
    rng = Random("labelled")
    caller = Caller("heldout", rng)
    seen: set[tuple[object, str]] = set()
    found = []
    for item in _items(caller, rng):
        if (item.history, item.words) not in seen:
            seen.add((item.history, item.words))
            found.append(item)
    return tuple(found)


def is_held_out(question: str) -> bool:
    """Return True if a held-out template can generate `question` (lower-case words), or the
    evaluation has it.
    """
    return any(text.fullmatch(question) for text in _held_out_texts()) or question in _asked()


@cache
def _held_out_texts() -> tuple[re.Pattern[str], ...]:
    data = catalogue()
    values = data.slot_values("train", "heldout")
    wrapped = (f"(<before> |){text}( <after>|)" for text in data.templates("heldout"))
    return tuple(pattern(text, data.lexicon, values) for text in wrapped)


@cache
def _asked() -> frozenset[str]:
    return frozenset(item.words for item in labelled_set())


def _items(caller: Caller, rng: Random) -> Iterator[Labelled]:
    for aspect in caller.aspects:
        yield from _distinct(lambda aspect=aspect: caller.aspect(aspect), _ALONE, rng)  # type: ignore[misc]  # a bound default
    for name in dict.fromkeys(ROOM_INTENTS):
        yield from _distinct(lambda name=name: caller.room(name), 3, rng)  # type: ignore[misc]  # a bound default
    for name, intent in caller.data.talk.items():
        if intent.phrasings.heldout:
            yield from _distinct(lambda name=name: caller.talk(name), 2, rng)  # type: ignore[misc]  # a bound default
    yield from _topic_follow_ups(caller, rng)
    yield from _room_follow_ups(caller, rng)
    yield from _repeats(caller, rng)
    yield from _distinct(lambda: caller.outside("decline"), _OUTSIDE, rng)
    yield from _distinct(lambda: caller.outside("unknown"), _OUTSIDE // 8, rng)


def _distinct(draw: Callable[[], Exchange], count: int, rng: Random) -> Iterator[Labelled]:
    """Yield `count` different questions of one intent."""
    drawn = {exchange.question: exchange for exchange in (draw() for _ in range(count * 12))}
    for exchange in islice(drawn.values(), count):
        yield _label(exchange, (), rng)


def _topic_follow_ups(caller: Caller, rng: Random) -> Iterator[Labelled]:
    for aspect in caller.aspects:
        siblings = [a for a in caller.data.topics[aspect.topic].aspects.values() if a is not aspect]
        if siblings and caller.follow_templates(aspect):
            before = caller.aspect(rng.choice(siblings))
            yield _label(caller.aspect_follow(aspect), _turns(before), rng)
    switchable = [aspect for aspect in caller.aspects if caller.switches(aspect)]
    for draw, count in ((caller.switch, _SWITCHES), (caller.correct_topic, _CORRECTIONS)):
        for aspect in rng.sample(_spread(switchable), count):
            before = caller.aspect(aspect)
            yield _label(draw(before.context), _turns(before), rng)


def _spread(aspects: list[Aspect]) -> list[Aspect]:
    """Return the aspects, at most half of them "have", which most topics have."""
    others = [aspect for aspect in aspects if aspect.name != "have"]
    return others + [aspect for aspect in aspects if aspect.name == "have"][: len(others)]


def _room_follow_ups(caller: Caller, rng: Random) -> Iterator[Labelled]:
    for asked, names in ROOM_FOLLOW_UPS.items():
        for name in dict.fromkeys(names):
            opening = "book_date" if asked == "booked" else asked
            before = caller.room(opening)
            while not before.context.asked:
                before = caller.room(opening)
            yield _label(caller.room_follow(name, before.context), _turns(before), rng)


def _repeats(caller: Caller, rng: Random) -> Iterator[Labelled]:
    for aspect in rng.sample(caller.aspects, _REPEATS):
        before = caller.aspect(aspect)
        yield _label(caller.follow("repeat", before.context), _turns(before), rng)
        words = before.answer.split()
        played = " ".join(words[: rng.randrange(2, max(3, len(words) - 2))])
        history = (("user", before.question), ("assistant", played))
        yield _label(caller.follow("goon", before.context), history, rng)


def _turns(before: Exchange) -> tuple[tuple[str, str], ...]:
    return (("user", before.question), ("assistant", before.answer))


def _label(exchange: Exchange, history: tuple[tuple[str, str], ...], rng: Random) -> Labelled:
    outside = exchange.intent.startswith("outside.")
    question = typed(exchange.question, rng) if rng.random() < _TYPED else exchange.question
    return Labelled(
        intent=exchange.intent,
        words=exchange.question,
        question=question,
        history=history,
        must=("|".join(DECLINES),) if outside else exchange.must,
        must_not=() if outside else (*DECLINES, *_other_rooms(exchange)),
        outside=outside,
        canonical=exchange.answer,
    )


def _other_rooms(exchange: Exchange) -> tuple[str, ...]:
    """Return the rooms that an answer about one room must not name."""
    named = [room.name for room in ROOMS if room.name in exchange.must]
    return tuple(room.name for room in ROOMS if len(named) == 1 and room.name not in named)
