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

from llmcore.demo.chat import render
from llmcore.demo.conversations import Message
from llmcore.demo.tokenizer import train_tokenizer
from llmcore.demo.training.attention import prefixed_attention
from llmcore.demo.training.batches import Batch, batches, collate, encode
from llmcore.demo.training.loop import Plan, answer_loss, train
from llmcore.demo.training.network import Llama, Shape
from llmcore.demo.training.optimizer import orthogonalize

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
    return batches(tokenizer, islice(repeat(TALK), 4096), most_tokens=64, seed=0)


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
    apart, _ = model(turns, model(system)[1])
    whole, _ = model(torch.cat([system, turns], dim=1))
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


def test_the_last_steps_all_read_the_system_prompt() -> None:
    plan = replace(PLAN, steps=1000)
    assert all(plan.reads_system(step) for step in range(750, 1000))
    assert 100 < sum(plan.reads_system(step) for step in range(750)) < 300


def test_a_run_that_was_stopped_ends_with_the_same_weights(
    tokenizer: Tokenizer, system: Tensor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmcore.demo.training.loop._SAVE_EVERY", 2)
    (tmp_path / "whole").mkdir()
    whole = train("m", PLAN, stream(tokenizer), system, tmp_path / "whole")

    def cut_off() -> Iterator[Batch]:
        yield from islice(stream(tokenizer), 3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("m", PLAN, cut_off(), system, tmp_path)
    resumed = train("m", PLAN, stream(tokenizer), system, tmp_path)
    for (name, one), (_, other) in zip(whole.named_parameters(), resumed.named_parameters(), strict=True):
        assert torch.equal(one, other), name


def test_training_lowers_the_loss(tokenizer: Tokenizer, system: Tensor, tmp_path: Path) -> None:
    batch = next(stream(tokenizer))

    def loss(model: Llama) -> float:
        model.eval()
        with torch.no_grad():
            return answer_loss(model, batch, system).item()

    before = loss(Llama(SHAPE))
    after = loss(train("m", replace(PLAN, steps=40), stream(tokenizer), system, tmp_path))
    assert after < 0.5 * before
