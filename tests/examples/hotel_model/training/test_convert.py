"""The files of the demo model: what other engines load computes what was trained."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which the light install leaves out")

import ctranslate2
import numpy as np
import torch
from late_import import late
from tokenizers import Tokenizer

from examples.hotel_model.chat import END, render
from examples.hotel_model.training.convert import convert_to_ctranslate2, save_checkpoint
from examples.hotel_model.training.network import Llama, Shape
from examples.hotel_model.training.tokenizer import train_tokenizer

transformers = late("transformers")
CHAT = [{"role": "user", "content": "when is breakfast"}]


@pytest.fixture(autouse=True)
def installed_transformers() -> None:
    reason = "the conversion needs transformers, which the light install leaves out"
    pytest.importorskip("transformers", reason=reason)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["when is breakfast"] * 3, 320)


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def model(request: pytest.FixtureRequest) -> Llama:
    torch.manual_seed(0)
    shape = Shape(vocabulary=320, hidden=64, layers=2, heads=2, feed_forward=96, tied=request.param)
    return Llama(shape).eval()


@pytest.fixture
def checkpoint(model: Llama, tokenizer: Tokenizer, tmp_path: Path) -> Path:
    save_checkpoint(model, tokenizer, tmp_path / "checkpoint", torch.float32)
    return tmp_path / "checkpoint"


def test_transformers_computes_the_trained_model(model: Llama, checkpoint: Path) -> None:
    tokens = torch.arange(5, 25).unsqueeze(0)
    with torch.no_grad():
        theirs = transformers.AutoModelForCausalLM.from_pretrained(checkpoint)(tokens).logits
        ours = model.logits(model(tokens)[0])
    torch.testing.assert_close(theirs, ours, atol=1e-5, rtol=1e-4)


def test_transformers_renders_a_chat_as_we_do(checkpoint: Path) -> None:
    theirs = transformers.AutoTokenizer.from_pretrained(checkpoint)
    assert theirs.apply_chat_template(CHAT, add_generation_prompt=True, tokenize=False) == render(CHAT)
    assert theirs.eos_token == END


def test_ctranslate2_loads_the_checkpoint_with_all_its_tokens(
    model: Llama, tokenizer: Tokenizer, checkpoint: Path, tmp_path: Path
) -> None:
    convert_to_ctranslate2(checkpoint, tmp_path / "ct2")
    assert "license: apache-2.0" in (tmp_path / "ct2" / "README.md").read_text()
    generator = ctranslate2.Generator(str(tmp_path / "ct2"))
    prompt = tokenizer.encode(render(CHAT))
    scores = generator.forward_batch([prompt.tokens], return_log_probs=True)
    with torch.no_grad():
        ours = model.logits(model(torch.tensor([prompt.ids]))[0]).log_softmax(-1)
    theirs = torch.from_numpy(np.array(scores))  # [1, length, vocabulary], int8 weights
    assert theirs.shape == ours.shape
    assert (theirs - ours).abs().mean() < 0.05
