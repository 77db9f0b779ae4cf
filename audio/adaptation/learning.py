"""Training loop for the corrections: the network learns to predict the transcripts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from audio.adaptation.batches import Batch, Example, padded_batch
from audio.adaptation.network import MoonshineNetwork

_LEARNING_RATE = 1e-3
_WARM_UP_STEPS = 50
_DECAY = 0.7  # share of the steps, at the end, in which the rate falls to 0
_MAX_GRADIENT = 1.0
_LEFT_OUT = -100  # label that the loss ignores


def learn(network: MoonshineNetwork, groups: Sequence[Sequence[Example]]) -> list[float]:
    """Train on each group in turn and return the losses."""
    optimizer = torch.optim.AdamW(network.learned, betas=(0.9, 0.98), weight_decay=0.0)
    losses = []
    with tqdm(groups, desc="learning", unit="step", mininterval=10) as bar:
        for step, group in enumerate(bar):
            loss = _loss(network, padded_batch(group))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # PyTorch's own
            nn.utils.clip_grad_norm_(network.learned, _MAX_GRADIENT)
            for parameters in optimizer.param_groups:
                parameters["lr"] = _rate(step, len(groups))
            optimizer.step()
            losses.append(loss.item())
            bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    return losses


def _loss(network: MoonshineNetwork, batch: Batch) -> Tensor:
    """Return the cross-entropy of the next token, in bfloat16 if the processor has instructions for it."""
    fast = bool(torch.cpu.get_capabilities().get("avx512_bf16", False))
    with torch.autocast("cpu", torch.bfloat16, enabled=fast):
        logits = network(batch.features.float(), batch.feature_mask, batch.tokens[:, :-1])
    wanted = batch.tokens[:, 1:].masked_fill(~batch.token_mask[:, 1:], _LEFT_OUT)
    return nn.functional.cross_entropy(logits.float().flatten(0, 1), wanted.flatten(), ignore_index=_LEFT_OUT)


def _rate(step: int, steps: int) -> float:
    return _LEARNING_RATE * min(1.0, (step + 1) / _WARM_UP_STEPS, (1 - step / steps) / _DECAY)
