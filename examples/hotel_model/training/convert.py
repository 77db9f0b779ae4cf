"""Conversion of trained weights: a Hugging Face checkpoint for vLLM, int8 for CTranslate2."""

from __future__ import annotations

import json
from pathlib import Path

import ctranslate2  # type: ignore[import-untyped]  # ships no types
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from examples.hotel_model.chat import END
from examples.hotel_model.training.network import Llama, Shape
from examples.hotel_model.training.tokenizer import mark_id, tokenizer_config

CONTEXT = 4096
"""Maximum length of prompt and answer together, in tokens."""
_CARD = """---
license: apache-2.0
---
A model of the demo. `examples/hotel_model` makes it; `MODEL_CARD.md` there describes it.
"""
"""README.md of a model's folder, whose head states the licence."""


def save_checkpoint(model: Llama, tokenizer: Tokenizer, folder: Path, dtype: torch.dtype) -> None:
    """Write a folder that vLLM and transformers can load: weights, configs, tokenizer, chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {_published(name): value.to(dtype).contiguous() for name, value in model.state_dict().items()}
    if model.shape.tied:
        del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    end = mark_id(tokenizer, END)
    _write(folder / "config.json", llama_config(model.shape, end, dtype))
    _write(folder / "tokenizer_config.json", tokenizer_config(CONTEXT))
    _write(folder / "generation_config.json", {"eos_token_id": end, "pad_token_id": end, "do_sample": False})
    (folder / "README.md").write_text(_CARD)


def llama_config(shape: Shape, end: int, dtype: torch.dtype) -> dict[str, object]:
    """Return the content of config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.feed_forward,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.hidden // shape.heads,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": shape.norm_epsilon,
        "rope_theta": shape.rope_theta,
        "rope_scaling": None,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": shape.tied,
        "bos_token_id": None,
        "eos_token_id": end,
        "pad_token_id": end,
        "torch_dtype": str(dtype).removeprefix("torch."),
    }


def convert_to_ctranslate2(checkpoint: Path, folder: Path) -> None:
    """Write CTranslate2's int8 model and its tokenizer to `folder`, replacing its content."""
    converter = ctranslate2.converters.TransformersConverter(
        str(checkpoint), copy_files=["tokenizer.json", "tokenizer_config.json", "README.md"]
    )
    converter.convert(str(folder), quantization="int8", force=True)


def _published(name: str) -> str:
    """Return the name of a weight in Hugging Face's Llama."""
    return name if name.startswith("lm_head.") else f"model.{name}"


def _write(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")
