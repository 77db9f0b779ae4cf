"""The Llamas of `tiny_llama` as GGUF files, as llama.cpp's own converter would write them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import tiny_llama
from tokenizers import Tokenizer

from llmcore.gguf.architecture import LAYER_PARTS

_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def build(checkpoint: Path, path: Path, quantization: str = "F32") -> Path:
    """Write the file. quantization: GGML's name, of the matrices."""
    import gguf  # noqa: PLC0415 - optional
    from safetensors.numpy import load_file  # noqa: PLC0415

    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(tiny_llama.CONTEXT_TOKENS)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    _add_tokenizer(writer, checkpoint)
    kind = gguf.GGMLQuantizationType[quantization]
    for name, weights in load_file(checkpoint / "model.safetensors").items():
        values = _pairs_together(weights, config) if "q_proj" in name or "k_proj" in name else weights
        matrix = values.ndim > 1 and kind != gguf.GGMLQuantizationType.F32
        stored = gguf.quants.quantize(values, kind) if matrix else values
        writer.add_tensor(_gguf_name(name), stored, raw_dtype=kind if matrix else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: object, checkpoint: Path) -> None:
    import gguf  # noqa: PLC0415

    assert isinstance(writer, gguf.GGUFWriter)
    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    content = json.loads((checkpoint / "tokenizer.json").read_text(encoding="utf-8"))
    config = json.loads((checkpoint / "tokenizer_config.json").read_text(encoding="utf-8"))
    kinds = gguf.TokenType
    added = {
        number: kinds.CONTROL if token.special else kinds.USER_DEFINED
        for number, token in tokenizer.get_added_tokens_decoder().items()
    }
    size = tokenizer.get_vocab_size()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([tokenizer.id_to_token(number) for number in range(size)])
    writer.add_token_types([added.get(number, kinds.NORMAL) for number in range(size)])
    writer.add_token_merges([" ".join(merge) for merge in content["model"]["merges"]])
    writer.add_eos_token_id(tokenizer.token_to_id(tiny_llama.END))
    writer.add_bos_token_id(tokenizer.token_to_id(tiny_llama.END))
    writer.add_add_bos_token(False)
    writer.add_chat_template(config["chat_template"])


def _gguf_name(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    _, _, layer, part = name.split(".", 3)
    theirs = {ours: theirs for theirs, ours in LAYER_PARTS.items()}
    return f"blk.{layer}.{theirs[part]}"


def _pairs_together(weights: np.ndarray, config: dict[str, int]) -> np.ndarray:
    """Reorder rows as llama.cpp has them for Llama: what is rotated together lies side by side."""
    heads = weights.shape[0] // config["head_dim"]
    halves = weights.reshape(heads, 2, config["head_dim"] // 2, weights.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(weights.shape)
