"""The EAGLE-3 head: what it sees when it is some tokens ahead, what it learns, and its checkpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which the light install leaves out")

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from examples.hotel_model.chat import END
from examples.hotel_model.train import main
from examples.hotel_model.training.convert import save_checkpoint
from examples.hotel_model.training.eagle import (
    HeadPlan,
    frequent_tokens,
    head_lessons,
    load_llama,
    proposal_loss,
    save_head,
    train_head,
)
from examples.hotel_model.training.eagle_head import EagleHead, HeadShape, read
from examples.hotel_model.training.network import Llama, Shape, rotary_angles
from examples.hotel_model.training.tokenizer import mark_id, train_tokenizer
from voiceagent.demo.world import system_prompt

SHAPE = Shape(vocabulary=448, hidden=32, layers=4, heads=2, feed_forward=48, tied=False)
PLAN = HeadPlan(SHAPE, steps=10, seed=3, tokens_per_step=256, vocabulary=64)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([system_prompt()], 400)


@pytest.fixture
def target() -> Llama:
    torch.manual_seed(0)
    model = Llama(SHAPE).eval()
    with torch.no_grad():
        model.lm_head.weight.mul_(30)  # so that it is as sure as one that has learned
    return model


@pytest.fixture
def head(target: Llama) -> EagleHead:
    torch.manual_seed(1)
    return EagleHead(HeadShape(SHAPE, feed_forward=48), torch.arange(371, 435), target).eval()


def test_the_model_is_read_as_it_reads_itself(target: Llama) -> None:
    tokens = torch.randint(5, 261, (2, 9))
    found, itself = read(target, tokens, (1, 3, 4)), target(tokens)
    torch.testing.assert_close(found.hidden, itself.hidden)
    torch.testing.assert_close(found.states[..., 32:64], itself.understood)
    torch.testing.assert_close(target.norm(found.states[..., 64:]), itself.hidden)


@pytest.mark.parametrize("behind", [False, True], ids=["alone", "behind a prefix"])
def test_what_is_learned_ahead_is_what_proposing_token_by_token_computes(
    target: Llama, head: EagleHead, behind: bool
) -> None:
    system, tokens = torch.randint(5, 261, (1, 6)), torch.randint(5, 261, (1, 8))
    known = read(target, system, head.shape.after)
    before = head.read_prefix(target, system, known.states, tokens[:, :1]) if behind else None
    states = read(target, tokens, head.shape.after, known.keys_values if behind else None).states
    passes = head.passes(target, tokens, states, 3, before)

    start, place = 6 if behind else 0, 4  # the model has read up to this place
    following = target.embed_tokens(tokens[:, 1:])
    angles = rotary_angles(SHAPE, start, 7, tokens.device)
    upto = place + 1
    first = tuple(angle[:upto] for angle in angles)
    own, cache = head.midlayer(following[:, :upto], head.fc(states[:, :upto]), first, (), before)
    own = own[:, -1:]
    if before is not None:
        cache = tuple(torch.cat(both, dim=2) for both in zip(before, cache, strict=True))
    torch.testing.assert_close(own, passes[0][:, place : place + 1])
    for number in (1, 2):
        at = place + number
        here = tuple(angle[at : at + 1] for angle in angles)
        own, new = head.midlayer(following[:, at : at + 1], own, here, (), cache)
        cache = tuple(torch.cat(both, dim=2) for both in zip(cache, new, strict=True))
        torch.testing.assert_close(own, passes[number][:, at : at + 1], atol=1e-5, rtol=1e-4)


def test_it_proposes_the_tokens_that_answers_have_most_and_their_end(tokenizer: Tokenizer) -> None:
    proposed = frequent_tokens(tokenizer, 64).tolist()
    assert len(set(proposed)) == 64
    assert proposed == sorted(proposed)
    assert mark_id(tokenizer, END) in proposed
    assert tokenizer.token_to_id(".") in proposed


def test_some_lessons_are_as_long_as_a_step_may_be(tokenizer: Tokenizer) -> None:
    lessons = head_lessons(replace(PLAN, tokens_per_step=1024), tokenizer)
    lengths = [batch.tokens.shape[1] for batch in islice(lessons, 40)]
    assert 2 <= sum(length > 700 for length in lengths) <= 20
    assert max(lengths) <= 1024


def test_training_lowers_the_loss_and_leaves_the_model_as_it_was(target: Llama, tokenizer: Tokenizer) -> None:
    batch = next(head_lessons(PLAN, tokenizer))
    torch.manual_seed(PLAN.seed)
    new = EagleHead(HeadShape(SHAPE), frequent_tokens(tokenizer, PLAN.vocabulary), target)
    was = {name: value.clone() for name, value in target.state_dict().items()}
    head = train_head(PLAN, target, tokenizer, torch.randint(5, 261, (1, 7)))
    with torch.no_grad():
        before, after = (proposal_loss(one, target, batch, PLAN.ahead).item() for one in (new, head))
    assert after < 0.9 * before
    assert all(torch.equal(value, was[name]) for name, value in target.state_dict().items())


def test_the_checkpoint_is_one_that_vllm_loads(head: EagleHead, tmp_path: Path) -> None:
    save_head(head, 4, tmp_path, torch.float32)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLMEagle3"]
    assert (config["num_hidden_layers"], config["hidden_size"], config["vocab_size"]) == (1, 32, 448)
    assert config["draft_vocab_size"] == 64
    assert config["eagle_aux_hidden_state_layer_ids"] == [1, 2, 4]
    weights = load_file(tmp_path / "model.safetensors")
    assert (weights.pop("d2t") + torch.arange(64)).tolist() == list(range(371, 435))
    layer = [f"self_attn.{name}_proj" for name in "qkvo"] + [
        f"mlp.{name}_proj" for name in ("gate", "up", "down")
    ]
    layer += ["input_layernorm", "hidden_norm", "post_attention_layernorm"]
    assert set(weights) == {
        *(f"{name}.weight" for name in ("fc", "norm", "lm_head")),
        *(f"midlayer.{name}.weight" for name in layer),
    }


def test_one_command_makes_the_head_of_a_model_that_lies_there(
    target: Llama, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoint(target, tokenizer, tmp_path / "target", torch.bfloat16)
    monkeypatch.setattr("examples.hotel_model.train.HEAD_STEPS", 1)
    main(["--out", str(tmp_path), "--eagle3", str(tmp_path / "head")])
    config = json.loads((tmp_path / "head/config.json").read_text())
    assert (config["hidden_size"], config["vocab_size"]) == (32, 448)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["head", "target"]


@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_a_checkpoint_of_the_model_is_read_back_as_it_was(
    tokenizer: Tokenizer, tmp_path: Path, tied: bool
) -> None:
    torch.manual_seed(0)
    model = Llama(Shape(448, 32, 2, 2, 48, tied=tied)).eval()
    save_checkpoint(model, tokenizer, tmp_path, torch.float32)
    back = load_llama(tmp_path)
    assert back.shape == model.shape
    tokens = torch.randint(5, 261, (1, 9))
    torch.testing.assert_close(back.logits(back(tokens).hidden), model.logits(model(tokens).hidden))
