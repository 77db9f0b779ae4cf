"""Writes a GGUF model in CTranslate2's format. Its own converters would need Torch and Transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from llmcore.engine import SetupError
from llmcore.gguf.architecture import Architecture, Floats, checkpoint_tensor
from llmcore.gguf.checkpoint import write_tokenizer
from llmcore.gguf.file import GgufFile

Quantization = Literal["int8", "int8_float32", "int16", "float16", "bfloat16", "float32"]
_CONVERTIBLE = ("qwen2", "llama")


def write_ct2_model(file: GgufFile, folder: Path, quantization: Quantization = "int8") -> None:
    """Write the folder of a CTranslate2 model with its tokenizer. Raises SetupError."""
    # slow to import; it has no types
    from ctranslate2.specs import common_spec, transformer_spec  # type: ignore[import-untyped]  # noqa: PLC0415

    architecture = Architecture.of(file)
    if architecture.name not in _CONVERTIBLE:
        allowed = ", ".join(map(repr, _CONVERTIBLE))
        raise SetupError(f"{file.path}: CTranslate2 models of {architecture.name!r}, allowed: {allowed}")
    alike = architecture.key_heads == architecture.heads
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        architecture.layers,
        architecture.heads,
        activation=common_spec.Activation.SWISH,
        pre_norm=True,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=0,
        rotary_interleave=False,
        rotary_base=architecture.rope_base,
        num_heads_kv=None if alike else architecture.key_heads,
    )
    _Filling(file, architecture).fill(spec)
    tokens: list[str] = file.value("tokenizer.ggml.tokens")
    spec.register_vocabulary(tokens)
    end = tokens[file.value("tokenizer.ggml.eos_token_id")]
    spec.config.bos_token = spec.config.eos_token = end
    spec.config.unk_token = ""
    spec.config.layer_norm_epsilon = architecture.norm_epsilon
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    write_tokenizer(file, folder)


class _Filling:
    """Copies the tensors of a GGUF file into a specification of CTranslate2."""

    def __init__(self, file: GgufFile, architecture: Architecture) -> None:
        self._file = file
        self._architecture = architecture

    def fill(self, spec: Any) -> None:
        decoder = spec.decoder
        decoder.scale_embeddings = False
        has_output = "output.weight" in self._file.tensors
        tied = self._architecture.tied
        decoder.embeddings.weight = self._tensor("output" if tied and has_output else "token_embd")
        # the same array where it is tied: CTranslate2 then stores it once
        decoder.projection.weight = decoder.embeddings.weight if tied else self._tensor("output")
        decoder.layer_norm.gamma = self._tensor("output_norm")
        for number, layer in enumerate(decoder.layer):
            self._fill_layer(layer, f"blk.{number}")

    def _fill_layer(self, layer: Any, name: str) -> None:
        attention, feed_forward = layer.self_attention, layer.ffn
        attention.layer_norm.gamma = self._tensor(f"{name}.attn_norm")
        feed_forward.layer_norm.gamma = self._tensor(f"{name}.ffn_norm")
        inputs = [f"{name}.attn_{part}" for part in ("q", "k", "v")]
        attention.linear[0].weight = np.concatenate([self._tensor(part) for part in inputs])
        if f"{inputs[0]}.bias" in self._file.tensors:
            biases = [self._tensor(part, "bias") for part in inputs]
            attention.linear[0].bias = np.concatenate(biases)
        attention.linear[1].weight = self._tensor(f"{name}.attn_output")
        feed_forward.linear_0.weight = self._tensor(f"{name}.ffn_gate")
        feed_forward.linear_0_noact.weight = self._tensor(f"{name}.ffn_up")
        feed_forward.linear_1.weight = self._tensor(f"{name}.ffn_down")

    def _tensor(self, name: str, part: str = "weight") -> Floats:
        tensor = checkpoint_tensor(self._file, self._architecture, f"{name}.{part}")
        # quantizing writes to it; 32-bit tensors are views of the mapped file, which is read-only
        return np.require(tensor, requirements="W")
