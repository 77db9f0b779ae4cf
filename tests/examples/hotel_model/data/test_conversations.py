"""The conversations the demo model is trained on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice
from random import Random

from examples.hotel_model.data.catalogue import Phrasings, catalogue
from examples.hotel_model.data.conversations import Message, conversations
from examples.hotel_model.data.exchanges import Caller


@cache
def _train(count: int = 4000) -> tuple[tuple[Message, ...], ...]:
    return tuple(islice(conversations("train", seed=1), count))


def _phrasings() -> dict[str, Phrasings]:
    data = catalogue()
    plain = (*data.rooms.items(), *data.talk.items(), *data.outside.items())
    both = {
        aspect.intent: Phrasings(
            aspect.own.train + aspect.frame.train, aspect.own.heldout + aspect.frame.heldout
        )
        for topic in data.topics.values()
        for aspect in topic.aspects.values()
    }
    return both | {name: intent.phrasings for name, intent in plain}


def test_the_same_seed_gives_the_same_conversations() -> None:
    assert tuple(islice(conversations("train", seed=1), 50)) == _train()[:50]


def test_another_seed_gives_other_conversations() -> None:
    assert tuple(islice(conversations("train", seed=2), 50)) != _train()[:50]


def test_caller_and_agent_take_turns_and_the_agent_has_the_last_word() -> None:
    for messages in _train():
        roles = [message["role"] for message in messages]
        assert roles == ["user", "assistant"] * (len(messages) // 2)
        assert 1 <= len(messages) // 2 <= 4


def test_only_whole_answers_are_learned() -> None:
    said = [m for messages in _train() for m in messages if m["role"] == "assistant"]
    whole = {message["content"] for message in said if message["learn"]}
    cut = {message["content"] for message in said if not message["learn"]}
    assert cut.isdisjoint(whole)
    assert all(answer.endswith((".", "?")) for answer in whole)


def test_what_callers_say_is_not_learned() -> None:
    assert not any(m["learn"] for messages in _train() for m in messages if m["role"] == "user")


def test_an_interrupted_answer_is_followed_by_the_caller() -> None:
    cut = [
        (messages, place)
        for messages in _train()
        for place, message in enumerate(messages)
        if message["role"] == "assistant" and not message["learn"]
    ]
    assert cut
    assert all(place < len(messages) - 1 for messages, place in cut)


def test_there_are_many_intents_with_many_phrasings_each() -> None:
    intents = _phrasings()
    assert len(intents) >= 60
    for name, templates in intents.items():
        train = max(len(templates.train), len(templates.follow_train))
        heldout = max(len(templates.heldout), len(templates.follow_heldout))
        assert train >= 15, name
        assert heldout >= 5, name


def test_questions_seldom_repeat() -> None:
    questions = [m["content"] for messages in _train() for m in messages if m["role"] == "user"]
    assert len(set(questions)) > 0.85 * len(questions)


def test_every_answer_of_the_catalogue_is_learned() -> None:
    learned = Counter(m["content"] for messages in _train() for m in messages if m["learn"])
    for topic in catalogue().topics.values():
        for aspect in topic.aspects.values():
            assert learned[aspect.answer] > 0, aspect.intent


def test_other_follow_ups_come_only_after_their_topic() -> None:
    caller = Caller("train", Random(1))
    others = [
        replace(exchange, question=f"{exchange.question} by the way {exchange.follows}")
        for exchange in (caller.any_follow_up() for _ in range(200))
    ]
    caller = Caller("train", Random(2), others)
    said = 0
    for _ in range(500):
        before = caller.alone()
        after = caller.next(before.context, last=False)
        if " by the way " in after.question:
            said += 1
            assert before.context.aspect is not None
            assert after.question.endswith(before.context.aspect.topic)
            assert after.context.aspect is not before.context.aspect
    assert said > 20


def test_what_follows_nothing_is_said_alone() -> None:
    other = replace(Caller("train", Random(1)).alone(), question="something else")
    caller = Caller("train", Random(2), [other])
    alone = [caller.alone() for _ in range(200)]
    assert 60 < sum(exchange is other for exchange in alone) < 140
