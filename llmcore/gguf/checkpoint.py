"""Writes a GGUF model as a Hugging Face checkpoint, which vLLM and Transformers load."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from llmcore.gguf.architecture import Architecture, Floats, checkpoint_names, checkpoint_tensor
from llmcore.gguf.file import GgufFile
from llmcore.gguf.tokenizer import build_tokenizer, tokenizer_config

CheckpointType = Literal["bfloat16", "float16", "float32"]
_SAFETENSORS_TYPES = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
_SAFETENSORS_ALIGNMENT = 8
_TRANSFORMERS_VERSION = "4.57.1"
"""Version whose form config.json has. Without one, Transformers takes the tokenizer for one of Mistral's that
was written with a wrong pattern, and warns of incorrect tokenization at each start of vLLM.
"""
_END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>")
"""Tokens that end a reply in the formats of the known architectures, in addition to the end token."""


def write_checkpoint(file: GgufFile, folder: Path, dtype: CheckpointType = "bfloat16") -> None:
    """Write the folder of a checkpoint: weights, configuration, tokenizer, chat template. Raises SetupError.

    Weights are written one by one: the whole model is never in memory.
    """
    architecture = Architecture.of(file)
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(file, folder)
    ends = _end_ids(file)
    config = architecture.hf_config() | {"torch_dtype": dtype, "eos_token_id": ends[0]}
    config["transformers_version"] = _TRANSFORMERS_VERSION
    _write_json(folder / "config.json", config)
    _write_json(folder / "generation_config.json", {"eos_token_id": ends})
    with (folder / "model.safetensors").open("wb") as target:
        _write_safetensors(target, file, architecture, dtype)


def write_tokenizer(file: GgufFile, folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json, which has the chat template. Raises SetupError."""
    build_tokenizer(file).save(str(folder / "tokenizer.json"))
    _write_json(folder / "tokenizer_config.json", tokenizer_config(file))


def _end_ids(file: GgufFile) -> list[int]:
    tokens: list[str] = file.value("tokenizer.ggml.tokens")
    first: int = file.value("tokenizer.ggml.eos_token_id")
    places = {token: number for number, token in enumerate(tokens)}
    return [first, *(places[end] for end in _END_TOKENS if end in places and places[end] != first)]


def _write_safetensors(
    target: BinaryIO, file: GgufFile, architecture: Architecture, dtype: CheckpointType
) -> None:
    """Write the format of https://huggingface.co/docs/safetensors: a JSON header, then the tensors."""
    names = list(checkpoint_names(file, architecture))
    item_bytes = 4 if dtype == "float32" else 2
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for ours, theirs in names:
        shape = file.place(theirs).shape
        size_bytes = int(np.prod(shape, dtype=np.int64)) * item_bytes
        header[ours] = {
            "dtype": _SAFETENSORS_TYPES[dtype],
            "shape": list(shape),
            "data_offsets": [at, at + size_bytes],
        }
        at += size_bytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _SAFETENSORS_ALIGNMENT)
    target.write(struct.pack("<Q", len(text)) + text)
    encode = _ENCODERS[dtype]
    for _, theirs in names:
        target.write(encode(checkpoint_tensor(file, architecture, theirs)).tobytes())


def _as_bfloat16(values: Floats) -> NDArray[Any]:
    """Return the upper halves of float32 values, rounded to nearest, ties to even; NumPy has no bfloat16."""
    bits = values.view(np.uint32)
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    return (rounded >> 16).astype(np.uint16)


_ENCODERS: dict[CheckpointType, Callable[[Floats], NDArray[Any]]] = {
    "bfloat16": _as_bfloat16,
    "float16": lambda values: values.astype(np.float16),
    "float32": lambda values: values,
}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
