"""A Llama of a few thousand random parameters as a GGUF file with a chat template, for llama.cpp."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WIDTH, INNER, CONTEXT_TOKENS = 64, 128, 4096
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
VOCABULARY = ["<unk>", "<s>", "</s>", *BYTES, *(f"word{number}" for number in range(61))]


def build(path: Path, template: str) -> Path:
    """Write the file."""
    import gguf  # noqa: PLC0415 - optional

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_vocab_size(len(VOCABULARY))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.encode() for token in VOCABULARY])
    writer.add_token_scores([0.0] * len(VOCABULARY))
    kinds = gguf.TokenType
    words = len(VOCABULARY) - len(BYTES) - 3
    writer.add_token_types(
        [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * len(BYTES), *[kinds.NORMAL] * words]
    )
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(template)
    for name, weights in _weights().items():
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)

    def some(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.05).astype(np.float32)

    weights = {
        "token_embd.weight": some(len(VOCABULARY), WIDTH),
        "output.weight": some(len(VOCABULARY), WIDTH),
        "blk.0.ffn_gate.weight": some(INNER, WIDTH),
        "blk.0.ffn_up.weight": some(INNER, WIDTH),
        "blk.0.ffn_down.weight": some(WIDTH, INNER),
    }
    weights |= {f"blk.0.attn_{part}.weight": some(WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
    norms = ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")
    return weights | {f"{norm}.weight": np.ones(WIDTH, np.float32) for norm in norms}
