"""Training questions with other words: what takes a word's place, and what of it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

import pytest

pytest.importorskip("torch", reason="training needs torch, which the light install leaves out")

import torch
from torch import Tensor

from examples.hotel_model.data.exchanges import Context, Exchange
from examples.hotel_model.training.paraphrases import Thesaurus, paraphrases

LIKE = {"cost": "price", "vehicle": "car", "swimming": "pool", "nights": "night"}
AXES = ("price", "car", "pool", "night", "mud", "the")
WORDS = ("price", "cost", "car", "vehicle", "pool", "swimming", "night", "nights", "mud")
QUESTIONS = {"parking": "the car cost", "pool": "the pool cost", "stay": "two nights the car"}
ASKED = tuple(Exchange(intent, text, f"about {intent}", (), Context()) for intent, text in QUESTIONS.items())


def meanings(texts: Sequence[str]) -> Tensor:
    """A text means its words; two words of `LIKE` mean the same, one that has no axis means nothing."""
    vectors = torch.full((len(texts), len(AXES)), 1e-3)
    for row, text in enumerate(texts):
        for word in text.split():
            if (known := LIKE.get(word, word)) in AXES:
                vectors[row, AXES.index(known)] += 1
    return torch.nn.functional.normalize(vectors, dim=-1)


@pytest.fixture(scope="module")
def made() -> list[Exchange]:
    fixed = frozenset({"two", "nights"})
    return list(islice(paraphrases(cycle(ASKED), fixed, Thesaurus(WORDS, meanings), meanings, seed=1), 300))


def test_words_of_like_meaning_are_found_without_the_word_itself() -> None:
    thesaurus = Thesaurus(WORDS, meanings)
    assert thesaurus.like("car") == ("vehicle",)
    assert thesaurus.like("mud") == ()
    assert thesaurus.like("unheard-of") == ()


def test_a_paraphrase_keeps_the_answer_and_has_other_words(made: list[Exchange]) -> None:
    answers = {each.question: each.answer for each in made}
    assert answers["the vehicle cost"] == answers["the car price"] == "about parking"
    assert answers["the swimming cost"] == "about pool"
    assert not set(QUESTIONS.values()) & answers.keys()


def test_what_is_nearer_to_another_intent_is_not_kept(made: list[Exchange]) -> None:
    said = {each.question for each in made if each.intent == "pool"}
    assert said
    assert not {"the car cost", "the vehicle cost", "the car price"} & said


def test_words_that_answers_say_back_stay(made: list[Exchange]) -> None:
    stays = [each.question for each in made if each.intent == "stay"]
    assert stays
    assert all({"two", "nights"} <= set(question.split()) for question in stays)


def test_the_same_seed_makes_the_same_paraphrases(made: list[Exchange]) -> None:
    fixed = frozenset({"two", "nights"})
    again = paraphrases(cycle(ASKED), fixed, Thesaurus(WORDS, meanings), meanings, seed=1)
    assert list(islice(again, 300)) == made
