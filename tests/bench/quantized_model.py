"""The demo model in two formats of compressed-tensors that vLLM has kernels for on a CPU.

.venv/bin/python tests/bench/quantized_model.py FOLDER

W8A8: weights and activations of eight bits, each row of a weight with its own scale, each token's activations
with theirs as they come. W4A16: weights of four bits, a scale for every 32 of a row, the one of 32 tried that
misses them least. The output layer stays as it is. The models go to FOLDER, with configurations of one engine
in bfloat16, as vLLM's kernels for a CPU want it:
voiceagent gate --config FOLDER/whole.toml --against FOLDER/w4a16.toml --questions 200
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from compressed_tensors.compressors.pack_quantized.helpers import (  # type: ignore[import-untyped]
    pack_to_int32,
)
from safetensors.torch import load_file, save_file

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "voiceagent/demo/weights/target"
GROUP = 32
EIGHT_BITS = {"num_bits": 8, "type": "int", "symmetric": True}
FOUR_BITS = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": GROUP}
Tensors = dict[str, torch.Tensor]


def eight_bits(weight: torch.Tensor) -> Tensors:
    """Return the parts of a quantized weight, by the suffix of the name."""
    scale = weight.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
    rounded = (weight / scale).round().clamp(-127, 127).to(torch.int8)
    return {"": rounded, "_scale": scale.to(torch.bfloat16)}


def four_bits(weight: torch.Tensor) -> Tensors:
    """As `eight_bits`, with numbers of four bits, eight of them in each of 32 bits."""
    groups = weight.reshape(len(weight), -1, GROUP)
    widest = groups.abs().amax(dim=2, keepdim=True).clamp(min=1e-8) / 7
    best, scale = torch.full_like(widest, torch.inf), widest
    for part in torch.linspace(0.6, 1.1, 32).tolist():
        tried = (widest * part).to(torch.bfloat16).float()
        missed = (groups - (groups / tried).round().clamp(-8, 7) * tried).square().sum(dim=2, keepdim=True)
        scale, best = torch.where(missed < best, tried, scale), torch.minimum(missed, best)
    rounded = (groups / scale).round().clamp(-8, 7).to(torch.int8).reshape(weight.shape)
    return {
        "_packed": pack_to_int32(rounded, 4),
        "_scale": scale.squeeze(2).to(torch.bfloat16),
        "_shape": torch.tensor(weight.shape),
    }


def quantized(
    name: str, folder: Path, parts: Callable[[torch.Tensor], Tensors], form: dict[str, Any]
) -> None:
    """Write the model whose linear layers are in such a form, and its configuration."""
    shutil.copytree(MODEL, folder / name, dirs_exist_ok=True)
    weights: Tensors = {}
    for key, weight in load_file(MODEL / "model.safetensors").items():
        if ".layers." in key and weight.dim() == 2:
            weights |= {key + part: value for part, value in parts(weight.float()).items()}
        else:
            weights[key] = weight
    save_file(weights, folder / name / "model.safetensors", metadata={"format": "pt"})
    form = {"quant_method": "compressed-tensors", "quantization_status": "compressed"} | form
    form |= {"ignore": ["lm_head"]}
    config = json.loads((MODEL / "config.json").read_text())
    (folder / name / "config.json").write_text(json.dumps(config | {"quantization_config": form}, indent=2))
    write_config(folder, name, str(folder / name))


def write_config(folder: Path, name: str, model: str) -> None:
    """Write the configuration of one of the models."""
    shipped = (ROOT / "configs/vllm-cpu.toml").read_text().replace('dtype = "float32"', 'dtype = "bfloat16"')
    shipped = shipped.replace('model = "package:voiceagent.demo/weights/target"', f'model = "{model}"')
    (folder / f"{name}.toml").write_text(shipped)


def main(folder: Path) -> None:
    """Write both models and three configurations."""
    groups = {"targets": ["Linear"], "weights": EIGHT_BITS | {"strategy": "channel", "dynamic": False}}
    groups |= {"input_activations": EIGHT_BITS | {"strategy": "token", "dynamic": True}}
    quantized("w8a8", folder, eight_bits, {"format": "int-quantized", "config_groups": {"group_0": groups}})
    groups = {"targets": ["Linear"], "weights": FOUR_BITS}
    quantized("w4a16", folder, four_bits, {"format": "pack-quantized", "config_groups": {"group_0": groups}})
    write_config(folder, "whole", "package:voiceagent.demo/weights/target")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
