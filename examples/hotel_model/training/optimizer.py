"""Optimizers: Muon for the layers' matrices, AdamW for the embedding, the head and the norms.

Muon (Jordan et al., 2024) takes about half of AdamW's steps to the same loss here. torch.optim.Muon is not
used because it always computes in bfloat16, which is a hundred times slower than float32 on a CPU without
those instructions.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn

from examples.hotel_model.training.network import Llama

_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)  # the coefficients of Jordan et al.
_NEWTON_SCHULZ_STEPS = 5


def bfloat16_is_fast(device: str) -> bool:
    """Return True if the device has bfloat16 instructions. Training then takes two thirds of the time."""
    return device != "cpu" or bool(torch.cpu.get_capabilities().get("avx512_bf16", False))


def orthogonalize(matrices: Tensor) -> Tensor:
    """Return the nearest semi-orthogonal matrix of each of [count, rows, columns], with singular
    values near 1.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x: Tensor = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    a, b, c = _NEWTON_SCHULZ
    for _ in range(_NEWTON_SCHULZ_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum with orthogonalized updates of matrices, scaled to AdamW's size (Liu et al., 2025)."""

    def __init__(
        self, parameters: list[nn.Parameter], lr: float, momentum: float, weight_decay: float
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # no closure is ever used
        """Update every matrix that has a gradient; those of one shape are orthogonalized together."""
        for group in self.param_groups:
            same: defaultdict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    same[parameter.shape].append(parameter)
            for (rows, columns), parameters in same.items():
                directions = torch.stack([self._direction(p, group["momentum"]) for p in parameters])
                if bfloat16_is_fast(directions.device.type):
                    directions = directions.bfloat16()
                scale = 0.2 * max(rows, columns) ** 0.5
                for parameter, update in zip(parameters, orthogonalize(directions), strict=True):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.add_(update, alpha=-group["lr"] * scale)

    def _direction(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        """Return the gradient with Nesterov momentum."""
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        assert parameter.grad is not None
        state["momentum"].lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(state["momentum"], momentum)


def optimizers(
    model: Llama, others: list[Tensor], lr: float, embedding_share: float
) -> list[torch.optim.Optimizer]:
    """Return the optimizers for the model and `others`; each group's learning rate is its "share" of `lr`.

    embedding_share: of the embedding. If that was initialized from meanings, a low share keeps rare words
    near common ones.
    """
    matrices = [p for p in model.layers.parameters() if p.dim() == 2]
    rest: list[Tensor] = [p for p in model.parameters() if p.dim() != 2] + others
    if not model.shape.tied:
        rest.append(model.lm_head.weight)
    groups = [
        {"params": rest, "share": 1.0},
        {"params": [model.embed_tokens.weight], "share": embedding_share},
    ]
    muon = Muon(matrices, lr=lr, momentum=0.95, weight_decay=0.1)
    muon.param_groups[0]["share"] = 1.0
    return [muon, torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), weight_decay=0.0)]
