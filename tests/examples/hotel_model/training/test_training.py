"""The training of the demo model: what is learned, from where, and that stopping changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path

import pytest
from tokenizers import Tokenizer

pytest.importorskip("torch", reason="training needs torch, which the light install leaves out")

import torch
from torch import Tensor

from examples.hotel_model.chat import render
from examples.hotel_model.data.conversations import Message
from examples.hotel_model.training.ahead import made_ahead
from examples.hotel_model.training.attention import prefixed_attention
from examples.hotel_model.training.batches import Batch, batches, collate, encode
from examples.hotel_model.training.learner import Learner, Lesson, Teacher
from examples.hotel_model.training.loop import Plan, train
from examples.hotel_model.training.network import Llama, Shape
from examples.hotel_model.training.optimizer import orthogonalize
from examples.hotel_model.training.semantics import sentences
from examples.hotel_model.training.tokenizer import train_tokenizer

TALK: tuple[Message, ...] = (
    {"role": "user", "content": "when is breakfast", "learn": False},
    {"role": "assistant", "content": "Breakfast is", "learn": False},
    {"role": "user", "content": "go on", "learn": False},
    {"role": "assistant", "content": "Breakfast is from seven.", "learn": True},
)
SHAPE = Shape(vocabulary=320, hidden=32, layers=2, heads=2, feed_forward=48)
PLAN = Plan(SHAPE, steps=6, seed=3, tokens_per_step=64)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([turn["content"] for turn in TALK] * 3, 320)


@pytest.fixture
def system() -> Tensor:
    return torch.randint(5, 261, (1, 7), generator=torch.Generator().manual_seed(0))


def stream(tokenizer: Tokenizer) -> Iterator[Batch]:
    return batches(tokenizer, islice(repeat(TALK), 4096), max_tokens=64, seed=0)


def lessons(tokenizer: Tokenizer) -> Iterator[Lesson]:
    return map(Lesson, stream(tokenizer))


def test_a_conversation_has_the_tokens_of_its_rendering(tokenizer: Tokenizer) -> None:
    assert encode(tokenizer, TALK).tokens == tokenizer.encode(render(TALK, add_generation_prompt=False)).ids


def test_only_answers_to_learn_and_their_ends_are_learned(tokenizer: Tokenizer) -> None:
    example = encode(tokenizer, TALK)
    learned = [token for token, learn in zip(example.tokens, example.learned, strict=True) if learn]
    assert tokenizer.decode(learned, skip_special_tokens=False) == "Breakfast is from seven.<|end|>"


def test_a_learned_token_is_predicted_from_the_one_before_it(tokenizer: Tokenizer) -> None:
    batch = collate([encode(tokenizer, TALK[:1]), encode(tokenizer, TALK)], padding=4)
    flat = batch.tokens.flatten()
    assert tokenizer.id_to_token(int(flat[batch.before[0]])) == "<|assistant|>"
    assert flat[batch.before + 1].tolist() == batch.next_tokens.tolist()


def test_of_everything_that_a_caller_says_the_last_token_is_known(tokenizer: Tokenizer) -> None:
    batch = collate([encode(tokenizer, TALK[:1]), encode(tokenizer, TALK)], padding=4)
    assert batch.said == ["when is breakfast", "when is breakfast", "go on"]
    ends = batch.tokens.flatten()[batch.said_at]
    assert [tokenizer.id_to_token(int(token)) for token in ends] == ["<|end|>"] * 3
    assert len(set(batch.said_at.tolist())) == 3


def test_no_batch_is_larger_than_asked(tokenizer: Tokenizer) -> None:
    sizes = [batch.tokens.numel() for batch in stream(tokenizer)]
    assert 0 < max(sizes) <= 64


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_attention_behind_a_shared_prefix_keeps_its_shape_on_any_device(device: str) -> None:
    q, k, v = (torch.randn(3, 2, 5, 8, device=device) for _ in range(3))
    prefix_k, prefix_v = (torch.randn(1, 2, 4, 8, device=device) for _ in range(2))
    assert prefixed_attention(q, k, v, prefix_k, prefix_v).shape == q.shape


def test_attention_behind_a_shared_prefix_equals_attention_to_both_with_all_gradients() -> None:
    torch.manual_seed(0)
    parts = [torch.randn(3, 2, 5, 8) for _ in range(3)] + [torch.randn(1, 2, 4, 8) for _ in range(2)]
    ours = [part.clone().requires_grad_() for part in parts]
    q, k, v, prefix_k, prefix_v = wanted = [part.clone().requires_grad_() for part in parts]
    grad = torch.randn(3, 2, 5, 8)
    out = prefixed_attention(*ours)
    out.backward(grad)
    scores = q @ torch.cat([prefix_k.expand(3, -1, -1, -1), k], 2).mT / 8**0.5
    seen = torch.ones(5, 9, dtype=torch.bool).tril(4)
    joint = scores.masked_fill(~seen, -torch.inf).softmax(-1) @ torch.cat(
        [prefix_v.expand(3, -1, -1, -1), v], 2
    )
    joint.backward(grad)
    torch.testing.assert_close(out, joint)
    for mine, theirs in zip(ours, wanted, strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_reading_behind_the_system_prompt_equals_reading_it_all(system: Tensor) -> None:
    torch.manual_seed(0)
    model = Llama(SHAPE).eval()
    turns = torch.randint(5, 261, (1, 9))
    apart = model(turns, model(system).keys_values).hidden
    whole = model(torch.cat([system, turns], dim=1)).hidden
    torch.testing.assert_close(apart, whole[:, system.shape[1] :], atol=1e-5, rtol=1e-4)


def test_an_orthogonal_update_has_singular_values_near_one() -> None:
    torch.manual_seed(0)
    for shape in ((2, 16, 40), (2, 40, 16)):
        values = torch.linalg.svdvals(orthogonalize(torch.randn(shape)))
        assert values.min() > 0.5
        assert values.max() < 1.5


def test_the_rate_rises_holds_and_falls_to_nearly_nothing() -> None:
    plan = replace(PLAN, steps=1000)
    rates = [plan.rate(step) for step in range(1000)]
    assert rates[0] < 0.05 * plan.learning_rate
    assert rates[500] == plan.learning_rate
    assert 0 < rates[-1] < 0.01 * plan.learning_rate


def test_a_run_that_was_stopped_ends_with_the_same_weights(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("examples.hotel_model.training.loop.SAVE_EVERY", 2)
    (tmp_path / "whole").mkdir()
    whole = train("m", PLAN, lessons(tokenizer), tmp_path / "whole")

    def cut_off() -> Iterator[Lesson]:
        yield from islice(lessons(tokenizer), 3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("m", PLAN, cut_off(), tmp_path)
    resumed = train("m", PLAN, lessons(tokenizer), tmp_path)
    for (name, one), (_, other) in zip(whole.named_parameters(), resumed.named_parameters(), strict=True):
        assert torch.equal(one, other), name


def test_a_run_that_is_done_makes_no_lesson(tokenizer: Tokenizer, tmp_path: Path) -> None:
    def none_wanted() -> Iterator[Lesson]:
        raise AssertionError("a lesson was made")
        yield

    done = train("m", PLAN, lessons(tokenizer), tmp_path)
    again = train("m", PLAN, none_wanted(), tmp_path)
    assert torch.equal(again.lm_head.weight, done.lm_head.weight)


@pytest.mark.parametrize("processes", [0, 2])
def test_lessons_made_ahead_come_in_their_order(processes: int) -> None:
    def made(process: int, of: int) -> Iterator[Lesson]:
        for step in range(process, 6, of):
            yield Lesson(None, None, torch.tensor([[step]]))

    systems = [lesson.system for lesson in made_ahead(made, processes)]
    assert [int(system) for system in systems if system is not None] == list(range(6))


def test_training_lowers_the_loss(tokenizer: Tokenizer, tmp_path: Path) -> None:
    batch = next(stream(tokenizer))

    def loss(model: Llama) -> float:
        learner = Learner(SHAPE, learning_rate=0.0)
        learner.model = model.eval()
        with torch.no_grad():
            return learner.loss(Lesson(batch)).item()

    before = loss(Llama(SHAPE))
    after = loss(train("m", replace(PLAN, steps=40), lessons(tokenizer), tmp_path))
    assert after < 0.5 * before


MEANING = {
    "when is breakfast": [1.0, 0.0, 0.0],
    "go on": [0.0, 1.0, 0.0],
    "is breakfast on": [0.0, 0.0, 1.0],
}


def taught(tokenizer: Tokenizer) -> tuple[Learner, Batch]:
    """A learner with a teacher, and the sentences whose meanings it knows."""
    talks: list[tuple[Message]] = [({"role": "user", "content": text, "learn": False},) for text in MEANING]
    torch.manual_seed(0)
    start = torch.randn(SHAPE.vocabulary, SHAPE.hidden)
    teacher = Teacher(lambda texts: torch.tensor([MEANING[text] for text in texts]), 3, start)
    return Learner(SHAPE, 3e-3, teacher=teacher), collate(
        [encode(tokenizer, talk) for talk in talks], padding=4
    )


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside conversations"])
def test_a_taught_model_can_tell_the_meanings_of_sentences(tokenizer: Tokenizer, alone: bool) -> None:
    learner, sentences = taught(tokenizer)
    lesson = Lesson(None if alone else next(stream(tokenizer)), sentences)
    for _ in range(150):
        learner.update(learner.loss(lesson), 1e-2)
    learner.model.eval()
    states = learner.model.understand(sentences.tokens)[0].flatten(0, 1)[sentences.said_at]
    assert learner.meaning_loss(states, torch.eye(3)).item() < 0.1


def test_sentences_alone_leave_what_answers_as_it_was(tokenizer: Tokenizer) -> None:
    learner, sentences = taught(tokenizer)
    answering = list(learner.model.layers[-1].parameters())
    before = [parameter.clone() for parameter in answering]
    learner.update(learner.loss(Lesson(None, sentences)), 1e-2)
    assert all(torch.equal(one, other) for one, other in zip(before, answering, strict=True))


def test_sentences_are_questions_many_of_them_with_other_words() -> None:
    made = list(islice(sentences(repeat("where is the pool"), ["lake", "cat"], seed=1), 200))
    assert 50 < made.count("where is the pool") < 150
    assert {word for text in made for word in text.split()} == {"where", "is", "the", "pool", "lake", "cat"}
    assert made == list(islice(sentences(repeat("where is the pool"), ["lake", "cat"], seed=1), 200))
