"""The evaluation set, and the scoring of answers to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

import pytest

from llmcore.demo import rooms
from llmcore.demo.catalogue import Phrasings, catalogue
from llmcore.demo.labelled import Labelled, labelled_set
from llmcore.demo.scoring import declines, says, score, spoken
from llmcore.demo.templates import expand, pattern, slots_of

_QUESTIONS = labelled_set()
_HOURS = next(item for item in _QUESTIONS if item.intent == "pool.hours")
_OUTSIDE = next(item for item in _QUESTIONS if item.outside)


def _all_phrasings() -> Iterator[Phrasings]:
    data = catalogue()
    for topic in data.topics.values():
        for aspect in topic.aspects.values():
            yield from (aspect.own, aspect.frame)
    yield data.switch
    for group in (data.rooms, data.talk, data.outside):
        yield from (intent.phrasings for intent in group.values())


def _slot_values() -> dict[str, tuple[str, ...]]:
    data = catalogue()

    def flat(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
        return tuple(sorted({word for group in groups for word in group}))

    return {
        "x": flat(topic.names for topic in data.topics.values()),
        "thing": flat(topic.things for topic in data.topics.values()),
        "room": flat(rooms.ROOM_WORDS.values()),
        "stay": flat(rooms.STAYS.values()),
        "people": flat(rooms.PEOPLE.values()),
        "long": rooms.LONG_STAYS,
        "day": rooms.DAYS,
        "time": rooms.TIMES,
        "date": ("friday", "the third of may"),
    } | {name: flat(split.values()) for name, split in data.outside_slots.items()}


def test_the_set_is_large_enough() -> None:
    inside = [item for item in _QUESTIONS if not item.outside]
    assert len(inside) >= 300
    assert sum(item.follows_up for item in inside) >= len(inside) / 3
    assert len(_QUESTIONS) - len(inside) >= 60


def test_no_question_is_asked_twice() -> None:
    assert len({(item.history, item.words) for item in _QUESTIONS}) == len(_QUESTIONS)


@pytest.mark.parametrize("item", _QUESTIONS, ids=lambda item: f"{item.intent}: {item.words}")
def test_the_answer_taught_in_training_is_right(item: Labelled) -> None:
    assert score(item, item.canonical).right


def test_no_training_template_can_say_what_a_held_out_one_says() -> None:
    rng, data, values = Random(1), catalogue(), _slot_values()
    heldout = {t for p in _all_phrasings() for t in (*p.heldout, *p.follow_heldout)}
    train = {t for p in _all_phrasings() for t in (*p.train, *p.follow_train)}
    said = {
        expand(t, rng, data.lexicon, {slot: rng.choice(values[slot]) for slot in slots_of(t)}): t
        for t in sorted(heldout)
        for _ in range(5)
    }
    texts = "\n".join(said)
    assert len(said) > 1200
    for template in sorted(train):
        matches = pattern(template, data.lexicon, values)
        found = [text for text in texts.splitlines() if matches.fullmatch(text)]
        assert not found, (template, found)


def test_an_answer_about_another_topic_is_wrong() -> None:
    facilities = ("pool", "gym", "spa", "bar", "restaurant", "breakfast", "parking", "shuttle", "wifi")
    topics = {name: catalogue().topics[name] for name in facilities}
    for item in _QUESTIONS:
        topic = item.intent.split(".")[0]
        if topic in topics and not item.follows_up:
            for other in topics.values():
                for aspect in other.aspects.values():
                    if other.name != topic:
                        assert not score(item, aspect.answer).right, (item, aspect.answer)


def test_an_answer_without_its_facts_is_wrong() -> None:
    verdict = score(_HOURS, "The pool is open from eight.")
    assert not verdict.right
    assert verdict.missing == ("nine",)


def test_declining_a_question_about_the_hotel_is_wrong() -> None:
    refusal = f"{_HOURS.canonical} I'm sorry, I can only help with the Lakeside Hotel."
    assert score(_HOURS, refusal).forbidden == ("only help with",)


def test_a_question_outside_the_world_must_be_declined() -> None:
    assert score(_OUTSIDE, "I'm sorry, I can only help with the Lakeside Hotel.").right
    assert not score(_OUTSIDE, "It is sunny in Paris.").right


def test_a_price_of_another_room_is_wrong() -> None:
    item = next(item for item in _QUESTIONS if item.intent == "room.price")
    room = item.must[0]
    other = "suite" if room != "suite" else "single room"
    assert not score(item, f"{item.canonical} The {other} is nicer.").right


def test_facts_are_compared_as_spoken_words() -> None:
    assert spoken("Check-out is at 11:00, for $30!") == "check out is at eleven for thirty dollars"
    assert says("It costs 120 dollars.", "one hundred and twenty")
    assert says("from 7 to 10:30", "ten thirty")
    assert not says("It is seventy.", "seven")


def test_one_alternative_of_a_fact_is_enough() -> None:
    assert says("It takes half an hour.", "thirty minutes|half an hour")


def test_a_refusal_is_recognised() -> None:
    assert declines("I'm sorry, I don’t know that.")
    assert not declines("The pool is heated.")


def test_the_chat_of_a_question_has_its_history() -> None:
    item = replace(_HOURS, history=(("user", "hello"), ("assistant", "Hello.")))
    roles = [message["role"] for message in item.messages("You are a clerk.")]
    assert roles == ["system", "user", "assistant", "user"]
