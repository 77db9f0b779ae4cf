"""The demo model with weights and activations of eight bits, as compressed-tensors has them (W8A8).

.venv/bin/python tests/bench/quantized_model.py FOLDER

Each row of a weight has its own scale, each token's activations theirs as they come; the output layer stays
as it is. The model goes to FOLDER, with two configurations of one engine in bfloat16, as vLLM's kernels for a
CPU want it: voiceagent gate --config FOLDER/whole.toml --against FOLDER/w8a8.toml --questions 200
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "voiceagent/demo/weights/target"
EIGHT_BITS = {"num_bits": 8, "type": "int", "symmetric": True}
FORMAT = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "quantization_status": "compressed",
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": EIGHT_BITS | {"strategy": "channel", "dynamic": False},
            "input_activations": EIGHT_BITS | {"strategy": "token", "dynamic": True},
        }
    },
}


def main(folder: Path) -> None:
    """Write the model and both configurations."""
    quantized = folder / "w8a8"
    shutil.copytree(MODEL, quantized, dirs_exist_ok=True)
    weights = {}
    for name, weight in load_file(MODEL / "model.safetensors").items():
        if ".layers." not in name or weight.dim() != 2:
            weights[name] = weight
            continue
        scale = weight.float().abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
        weights[name] = (weight.float() / scale).round().clamp(-127, 127).to(torch.int8)
        weights[name.replace(".weight", ".weight_scale")] = scale.to(torch.bfloat16)
    save_file(weights, quantized / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((MODEL / "config.json").read_text())
    (quantized / "config.json").write_text(json.dumps(config | {"quantization_config": FORMAT}, indent=2))
    shipped = (ROOT / "configs/vllm-cpu.toml").read_text().replace('dtype = "float32"', 'dtype = "bfloat16"')
    (folder / "whole.toml").write_text(shipped)
    model = 'model = "package:voiceagent.demo/weights/target"'
    (folder / "w8a8.toml").write_text(shipped.replace(model, f'model = "{quantized}"'))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
