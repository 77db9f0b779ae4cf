"""Causal attention of many sequences that share one prefix.

Every conversation starts with the same system prompt, so its keys and values are computed once a step and all
sequences attend to them. Attention over the union of two sets of keys is the average of the attentions over
each, weighted by their softmax masses (Dao et al., FlashAttention, 2022; Liu et al., Ring Attention, 2023).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return causal attention within each sequence. q, k, v: [batch, heads, length, head_dim]."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def prefixed_attention(q: Tensor, k: Tensor, v: Tensor, prefix_k: Tensor, prefix_v: Tensor) -> Tensor:
    """Return attention to the whole of a shared prefix, and causally within each sequence.

    q, k, v: [batch, heads, length, head_dim]; prefix_k, prefix_v: [1, heads, prefix_length, head_dim].
    Gradients reach the prefix.
    """
    if q.device.type == "cpu":
        out: Tensor = _SharedPrefixAttention.apply(q, k, v, prefix_k, prefix_v)  # type: ignore[no-untyped-call]  # torch's
        return out
    # a third of torch's import time, as it loads TorchDynamo; of use on a GPU alone
    from torch.nn.attention.bias import causal_lower_right  # noqa: PLC0415

    batch, _, length, _ = q.shape
    causal = causal_lower_right(length, prefix_k.shape[2] + length)
    return torch.nn.functional.scaled_dot_product_attention(
        q,
        torch.cat([prefix_k.expand(batch, -1, -1, -1), k], dim=2),
        torch.cat([prefix_v.expand(batch, -1, -1, -1), v], dim=2),
        attn_mask=causal,
    )


def _as_one_sequence(x: Tensor) -> Tensor:
    """Reshape [batch, heads, length, dim] to [1, heads, batch * length, dim]."""
    return x.transpose(0, 1).flatten(1, 2).unsqueeze(0)


def _as_batch(x: Tensor, batch: int) -> Tensor:
    """Reshape [1, heads, batch * length, ...] to [batch, heads, length, ...]."""
    return x.reshape(x.shape[1], batch, -1, *x.shape[3:]).transpose(0, 1)


class _SharedPrefixAttention(torch.autograd.Function):
    """The CPU's flash kernel over the prefix, again over the sequences, and the two joined."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, prefix_k: Tensor, prefix_v: Tensor) -> Tensor:
        batch = q.shape[0]
        far, far_mass = _flash(_as_one_sequence(q), prefix_k, prefix_v, 0.0, False)
        near, near_mass = _flash(q, k, v, 0.0, True)
        far, far_mass = _as_batch(far, batch), _as_batch(far_mass, batch)
        mass = torch.logaddexp(far_mass, near_mass)
        share = (near_mass - mass).exp().unsqueeze(-1)
        out = torch.lerp(far, near, share)
        ctx.save_for_backward(q, k, v, prefix_k, prefix_v, out, mass)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        q, k, v, prefix_k, prefix_v, out, mass = ctx.saved_tensors
        # Given the joint output and mass, the kernel's backward pass yields each part's true gradient.
        far_q, grad_prefix_k, grad_prefix_v = _flash_backward(
            *(_as_one_sequence(x) for x in (grad, q)),
            prefix_k,
            prefix_v,
            _as_one_sequence(out),
            _as_one_sequence(mass.unsqueeze(-1)).squeeze(-1),
            0.0,
            False,
        )
        near_q, grad_k, grad_v = _flash_backward(grad, q, k, v, out, mass, 0.0, True)
        return _as_batch(far_q, q.shape[0]) + near_q, grad_k, grad_v, grad_prefix_k, grad_prefix_v
