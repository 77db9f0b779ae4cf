"""The evaluation set, and the scoring of answers to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from random import Random

from examples.hotel_model.data.catalogue import catalogue
from examples.hotel_model.data.labelled import is_held_out, labelled_set
from examples.hotel_model.data.templates import expand, pattern, slots_of

_QUESTIONS = labelled_set()
_HOURS = next(item for item in _QUESTIONS if item.intent == "pool.hours")
_OUTSIDE = next(item for item in _QUESTIONS if item.outside)


def test_the_set_is_large_enough() -> None:
    inside = [item for item in _QUESTIONS if not item.outside]
    assert len(inside) >= 300
    assert sum(item.follows_up for item in inside) >= len(inside) / 3
    assert len(_QUESTIONS) - len(inside) >= 60


def test_no_question_is_asked_twice() -> None:
    assert len({(item.history, item.words) for item in _QUESTIONS}) == len(_QUESTIONS)


def test_the_answer_taught_in_training_is_right() -> None:
    assert [item for item in _QUESTIONS if not item.judge(item.canonical).right] == []


def _drawn(templates: Iterable[str], times: int) -> list[str]:
    """Return so many texts of each template."""
    rng, data = Random(1), catalogue()
    values = data.slot_values("train", "heldout")
    return [
        expand(
            template,
            rng,
            data.lexicon,
            {slot: rng.choice(values[slot]) for slot in sorted(slots_of(template))},
        )
        for template in sorted(templates)
        for _ in range(times)
    ]


def _both_say(templates: Iterable[str], texts: Iterable[str]) -> list[tuple[str, str]]:
    """The templates that can say one of the texts, each with that text."""
    data, lines = catalogue(), "\n".join([*sorted(set(texts)), ""])
    values = data.slot_values("train", "heldout")
    saying = cache(lambda words: tuple(_lines_with(words, lines)))
    both = []
    for template in sorted(templates):
        # to look for these words takes a hundredth of the time of the expression
        longest, *others = _always_said(template)
        likely = [text for text in saying(longest) if all(words in text for words in others)]
        if likely:
            whole = pattern(template, data.lexicon, values)
            both += [(template, text) for text in likely if whole.fullmatch(text)]
    return both


def _lines_with(words: str, lines: str) -> Iterator[str]:
    end = -1
    while 0 <= (at := lines.find(words, end + 1)) < len(lines):
        end = lines.find("\n", at)
        yield lines[lines.rfind("\n", 0, at) + 1 : end]


def _always_said(template: str) -> list[str]:
    """The words that stand in no choice, the longest first: whatever the template says, they are in it."""
    while (shorter := re.sub(r"\([^()]*\)|<\w+>|\[\w+\]", "|", template)) != template:
        template = shorter
    return sorted(re.split(r"[| ]+", template), key=len, reverse=True)


def test_no_training_template_can_say_what_a_held_out_one_says() -> None:
    heldout, train = catalogue().templates("heldout"), catalogue().templates("train")
    said = _drawn(heldout, 5)
    assert len(set(said)) > 1200
    assert _both_say(train, said) == []
    assert _both_say(heldout, _drawn(train, 5)) == []


def test_what_a_held_out_template_says_is_known_in_any_wrapping() -> None:
    heldout = sorted({t for p in catalogue().phrasings() for t in p.heldout})[:50]
    for text in _drawn(heldout, 1):
        assert is_held_out(text)
        assert is_held_out(f"excuse me {text} please")
    assert all(is_held_out(item.words) for item in _QUESTIONS)


def test_what_training_templates_say_is_not_taken_for_held_out() -> None:
    train = sorted({t for p in catalogue().phrasings() for t in p.train})[::50]
    assert not [text for text in _drawn(train, 1) if is_held_out(text)]


def test_an_answer_about_another_topic_is_wrong() -> None:
    facilities = ("pool", "gym", "spa", "bar", "restaurant", "breakfast", "parking", "shuttle", "wifi")
    topics = {name: catalogue().topics[name] for name in facilities}
    for item in _QUESTIONS:
        topic = item.intent.split(".")[0]
        if topic in topics and not item.follows_up:
            for other in topics.values():
                for aspect in other.aspects.values():
                    if other.name != topic:
                        assert not item.judge(aspect.answer).right, (item, aspect.answer)


def test_an_answer_without_its_facts_is_wrong() -> None:
    verdict = _HOURS.judge("The pool is open from eight.")
    assert not verdict.right
    assert verdict.missing == ("nine",)


def test_declining_a_question_about_the_hotel_is_wrong() -> None:
    refusal = f"{_HOURS.canonical} I'm sorry, I can only help with the Lakeside Hotel."
    assert _HOURS.judge(refusal).forbidden == ("only help with",)


def test_a_question_outside_the_world_must_be_declined() -> None:
    assert _OUTSIDE.judge("I'm sorry, I can only help with the Lakeside Hotel.").right
    assert not _OUTSIDE.judge("It is sunny in Paris.").right


def test_a_price_of_another_room_is_wrong() -> None:
    item = next(item for item in _QUESTIONS if item.intent == "room.price")
    room = item.must[0]
    other = "suite" if room != "suite" else "single room"
    assert not item.judge(f"{item.canonical} The {other} is nicer.").right


def test_a_refusal_is_recognised() -> None:
    assert _OUTSIDE.judge("I'm sorry, I don’t know that.").right
    assert not _OUTSIDE.judge("The pool is heated.").right


def test_the_chat_of_a_question_has_its_history() -> None:
    item = replace(_HOURS, history=(("user", "hello"), ("assistant", "Hello.")))
    roles = [message["role"] for message in item.messages("You are a clerk.")]
    assert roles == ["system", "user", "assistant", "user"]
