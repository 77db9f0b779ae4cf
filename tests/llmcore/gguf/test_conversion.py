"""A model that went through GGUF is the model that it was, for every engine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tiny_llama
import tiny_llama_gguf
from tokenizers import Tokenizer

from llmcore.engine import SetupError
from llmcore.gguf.checkpoint import write_checkpoint
from llmcore.gguf.ct2_model import write_ct2_model
from llmcore.gguf.file import GgufFile

pytest.importorskip("gguf", reason="it is missing: pip install 'voiceagent-server[gguf]'")


@pytest.fixture(scope="module")
def path(random_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama_gguf.build(random_model, tmp_path_factory.mktemp("gguf") / "random.gguf")


def test_a_checkpoint_has_the_weights_that_the_gguf_file_was_made_of(
    path: Path, random_model: Path, tmp_path: Path
) -> None:
    from safetensors.numpy import load_file  # noqa: PLC0415 - comes with torch

    with GgufFile(path) as file:
        write_checkpoint(file, tmp_path, "float32")
    before, after = load_file(random_model / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_checkpoint_in_bfloat16_is_rounded_to_nearest(path: Path, tmp_path: Path) -> None:
    import torch  # noqa: PLC0415
    from safetensors.torch import load_file  # noqa: PLC0415

    with GgufFile(path) as file:
        write_checkpoint(file, tmp_path / "whole", "float32")
        write_checkpoint(file, tmp_path / "half", "bfloat16")
    whole = load_file(tmp_path / "whole" / "model.safetensors")
    half = load_file(tmp_path / "half" / "model.safetensors")
    assert all(torch.equal(whole[name].to(torch.bfloat16), half[name]) for name in whole)


def test_transformers_computes_the_same_from_the_checkpoint(
    path: Path, random_model: Path, tmp_path: Path
) -> None:
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    with GgufFile(path) as file:
        write_checkpoint(file, tmp_path, "float32")
    ids = torch.arange(5, 40)[None]
    with torch.no_grad():
        before = AutoModelForCausalLM.from_pretrained(random_model)(ids).logits
        after = AutoModelForCausalLM.from_pretrained(tmp_path)(ids).logits
    assert torch.allclose(before, after, atol=1e-4)


def test_ctranslate2_computes_the_same_as_from_its_own_converter(
    path: Path, random_model: Path, tmp_path: Path
) -> None:
    import ctranslate2  # noqa: PLC0415
    from ctranslate2.converters import TransformersConverter  # noqa: PLC0415

    TransformersConverter(str(random_model)).convert(str(tmp_path / "theirs"))
    with GgufFile(path) as file:
        write_ct2_model(file, tmp_path / "ours", "float32")
    tokens = Tokenizer.from_file(str(random_model / "tokenizer.json")).encode("the quick brown fox").tokens
    theirs, ours = (
        np.array(ctranslate2.Generator(str(tmp_path / name)).forward_batch([tokens]))
        for name in ("theirs", "ours")
    )
    assert np.allclose(theirs, ours, atol=1e-4)


def test_weights_of_32_bits_are_quantized_to_int8(path: Path, tmp_path: Path) -> None:
    import ctranslate2  # noqa: PLC0415

    with GgufFile(path) as file:
        write_ct2_model(file, tmp_path)
    assert "int8" in ctranslate2.Generator(str(tmp_path)).compute_type


@pytest.mark.parametrize(
    "text", ["the quick brown fox", "open_door", "café 日🙂 ж", f"{tiny_llama.USER}count"]
)
def test_the_tokenizer_of_the_checkpoint_gives_the_known_ids(
    text: str, path: Path, random_model: Path, tmp_path: Path
) -> None:
    with GgufFile(path) as file:
        write_checkpoint(file, tmp_path)
    before, after = (
        Tokenizer.from_file(str(folder / "tokenizer.json")) for folder in (random_model, tmp_path)
    )
    assert before.encode(text).ids == after.encode(text).ids
    assert after.decode(after.encode(text).ids, skip_special_tokens=False) == text
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["eos_token"] == tiny_llama.END


def test_a_checkpoint_states_the_version_of_transformers_whose_form_it_has(
    path: Path, tmp_path: Path
) -> None:
    """Without one, Transformers warns that a large vocabulary is tokenized wrongly."""
    with GgufFile(path) as file:
        write_checkpoint(file, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert config["transformers_version"].startswith("4.")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("general.architecture", "mamba", "'mamba', allowed: 'qwen2'"),
        ("tokenizer.ggml.model", "bert", "'bert', allowed: 'gpt2'"),
        ("tokenizer.ggml.pre", "other", "'other', allowed: 'qwen2'"),
    ],
)
def test_what_cannot_be_converted_is_named_with_what_can(
    key: str, value: str, told: str, path: Path, tmp_path: Path
) -> None:
    with GgufFile(path) as file:
        file.metadata[key] = value
        with pytest.raises(SetupError, match=rf"random\.gguf.*{told}"):
            write_checkpoint(file, tmp_path)
