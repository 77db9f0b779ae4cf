"""The names and shapes that GGUF gives to a model's parts, and those of a Hugging Face checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmcore.engine import SetupError
from llmcore.gguf.file import GgufFile

Floats = NDArray[np.float32]

LAYER_PARTS: Mapping[str, str] = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_q_norm.weight": "self_attn.q_norm.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_k_norm.weight": "self_attn.k_norm.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}
_HF_NAMES: Mapping[str, tuple[str, str]] = {
    "qwen2": ("Qwen2ForCausalLM", "qwen2"),
    "qwen3": ("Qwen3ForCausalLM", "qwen3"),
    "llama": ("LlamaForCausalLM", "llama"),
}
_SAME_MATRIX = 0.98
"""Cosine of two differently quantized copies of one row: 4 bits keep 0.995, unrelated rows have about 0."""
_COMPARED_ROWS = 256


@dataclass(frozen=True, slots=True)
class Architecture:
    """Dimensions of a decoder. tied: the output matrix is the embedding matrix."""

    name: str
    layers: int
    width: int
    inner_width: int
    heads: int
    key_heads: int
    head_width: int
    context: int
    vocabulary: int
    norm_epsilon: float
    rope_base: float
    tied: bool

    @classmethod
    def of(cls, file: GgufFile) -> Architecture:
        """Read it from the metadata. Raises SetupError for an architecture that cannot be converted."""
        name = str(file.value("general.architecture"))
        if name not in _HF_NAMES:
            allowed = ", ".join(map(repr, _HF_NAMES))
            raise SetupError(f"{file.path}: a model of the architecture {name!r}, allowed: {allowed}")

        def value(key: str, default: Any = None) -> Any:
            found = file.metadata.get(f"{name}.{key}", default)
            return file.value(f"{name}.{key}") if found is None else found

        if scaling := file.metadata.get(f"{name}.rope.scaling.type", "none") not in ("none", ""):
            raise SetupError(f"{file.path}: positions scaled by {scaling!r} cannot be converted")
        heads, width = value("attention.head_count"), value("embedding_length")
        return cls(
            name=name,
            layers=value("block_count"),
            width=width,
            inner_width=value("feed_forward_length"),
            heads=heads,
            key_heads=value("attention.head_count_kv", heads),
            head_width=value("attention.key_length", width // heads),
            context=value("context_length"),
            vocabulary=file.tensors["token_embd.weight"].shape[0]
            if "token_embd.weight" in file.tensors
            else 0,
            norm_epsilon=round(value("attention.layer_norm_rms_epsilon"), 12),
            rope_base=value("rope.freq_base", 10_000.0),
            tied=_is_tied(file),
        )

    def hf_config(self) -> dict[str, Any]:
        """Return the content of a checkpoint's config.json, without ids of tokens."""
        model_class, model_type = _HF_NAMES[self.name]
        return {
            "architectures": [model_class],
            "model_type": model_type,
            "hidden_act": "silu",
            "hidden_size": self.width,
            "intermediate_size": self.inner_width,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.key_heads,
            "head_dim": self.head_width,
            "max_position_embeddings": self.context,
            "rms_norm_eps": self.norm_epsilon,
            "rope_theta": self.rope_base,
            "tie_word_embeddings": self.tied,
            "vocab_size": self.vocabulary,
            "attention_bias": False,
        }


def checkpoint_names(file: GgufFile, architecture: Architecture) -> Iterator[tuple[str, str]]:
    """Yield each tensor's name in a checkpoint with its name in the GGUF file."""
    # tied: llama.cpp keeps the output matrix in more bits than the embeddings
    whole = "output.weight" if architecture.tied and "output.weight" in file.tensors else "token_embd.weight"
    yield "model.embed_tokens.weight", whole
    for layer in range(architecture.layers):
        for theirs, ours in LAYER_PARTS.items():
            if f"blk.{layer}.{theirs}" in file.tensors:
                yield f"model.layers.{layer}.{ours}", f"blk.{layer}.{theirs}"
    yield "model.norm.weight", "output_norm.weight"
    if not architecture.tied:
        yield "lm_head.weight", "output.weight"


def checkpoint_tensor(file: GgufFile, architecture: Architecture, name: str) -> Floats:
    """Return a tensor of the GGUF file in the order of rows that a checkpoint has. Raises SetupError."""
    values = file.tensor(name)
    if architecture.name == "llama" and name.endswith(("attn_q.weight", "attn_k.weight")):
        heads = architecture.heads if "attn_q" in name else architecture.key_heads
        return _halves_apart(values, heads)
    return values


def _halves_apart(values: Floats, heads: int) -> Floats:
    """Undo llama.cpp's reordering for Llama: rows that are rotated together lie side by side there, and half
    a head apart in a checkpoint.
    """
    rows, columns = values.shape
    pairs = values.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)


def _is_tied(file: GgufFile) -> bool:
    """Return True if the output matrix is the embedding matrix, even if both are stored."""
    if "output.weight" not in file.tensors:
        return True
    one, other = file.rows("token_embd.weight", _COMPARED_ROWS), file.rows("output.weight", _COMPARED_ROWS)
    if one.shape != other.shape:
        return False
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosines = (one * other).sum(1) / np.maximum(lengths, 1e-9)
    return bool(np.median(cosines) > _SAME_MATRIX)
