"""A Llama in plain torch, whose weights have Hugging Face's names and load there unchanged.

Architecture: Touvron et al., LLaMA, 2023: pre-norm blocks, rotary positions, SwiGLU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.hotel_model.training.attention import causal_attention, prefixed_attention


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Llama. `hidden` is `heads` times the head's dimension; `tied`: the head shares
    the embedding.
    """

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    feed_forward: int
    tied: bool = True
    rope_theta: float = 10_000.0
    norm_epsilon: float = 1e-5


KeysValues = tuple[Tensor, Tensor]


class Reading(NamedTuple):
    """Outputs of the model for tokens.

    hidden: normalized states [batch, length, hidden]. keys_values: of every layer. understood: states before
    the last layer [batch, length, hidden].
    """

    hidden: Tensor
    keys_values: list[KeysValues]
    understood: Tensor


# While training only, against learning the few thousand phrasings by heart: dropout of what each layer adds,
# and noise on the embeddings as a share of their size (Jain et al., NEFTune, 2023), so that a word near a
# known one is understood.
_DROPOUT = 0.15
_NOISE = 0.3


class Attention(nn.Module):
    """Multi-head attention with rotary positions."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.k_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.v_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.o_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)

    def forward(self, x: Tensor, angles: KeysValues, prefix: KeysValues | None) -> tuple[Tensor, KeysValues]:
        """Return an output of x's shape, and the keys and values of x. x: [batch, length, hidden]."""
        q, k, v = (
            project(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        on_cpu = x.device.type == "cpu"  # whose kernel is slower in bfloat16; a GPU's quick one has no other
        q, k, v = (
            part.float() if on_cpu else part.to(v.dtype) for part in (rotate(q, angles), rotate(k, angles), v)
        )
        with torch.autocast(x.device.type, enabled=False):
            attended = causal_attention(q, k, v) if prefix is None else prefixed_attention(q, k, v, *prefix)
        return self.o_proj(attended.transpose(1, 2).flatten(2)), (k, v)


class FeedForward(nn.Module):
    """SwiGLU (Shazeer, 2020)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.down_proj = nn.Linear(shape.feed_forward, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., hidden] to [..., hidden]."""
        out: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Block(nn.Module):
    """One layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(shape.hidden, shape.norm_epsilon)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = nn.RMSNorm(shape.hidden, shape.norm_epsilon)
        self.mlp = FeedForward(shape)

    def forward(self, x: Tensor, angles: KeysValues, prefix: KeysValues | None) -> tuple[Tensor, KeysValues]:
        """See Attention.forward."""
        attended, kept = self.self_attn(self.input_layernorm(x), angles, prefix)
        x = x + self._dropped(attended)
        return x + self._dropped(self.mlp(self.post_attention_layernorm(x))), kept

    def _dropped(self, x: Tensor) -> Tensor:
        """Return x with dropout while training. One random byte a value: torch's own dropout on a
        CPU takes a tenth of the training.
        """
        if not self.training:
            return x
        drawn = torch.empty(x.numel() // 8, dtype=torch.int64, device=x.device).random_()
        return x * drawn.view(torch.uint8).view(x.shape).ge(round(256 * _DROPOUT)) / (1 - _DROPOUT)


class Llama(nn.Module):
    """The body and the head."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.hidden, shape.norm_epsilon)
        self.lm_head = nn.Linear(shape.hidden, shape.vocabulary, bias=False)
        if shape.tied:
            self.lm_head.weight = self.embed_tokens.weight
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)
        for layer in self.layers:
            assert isinstance(layer, Block)
            for last in (layer.self_attn.o_proj, layer.mlp.down_proj):
                nn.init.normal_(last.weight, std=0.02 / (2 * shape.layers) ** 0.5)

    def forward(self, tokens: Tensor, prefix: list[KeysValues] | None = None) -> Reading:
        """Process tokens [batch, length] after the shared prefix, whose keys and values have
        batch size one.
        """
        understood, kept = self.understand(tokens, prefix)
        x, keys_values = self._through(len(self.layers) - 1, understood, prefix)
        return Reading(self.norm(x), [*kept, keys_values], understood)

    def understand(
        self, tokens: Tensor, prefix: list[KeysValues] | None = None
    ) -> tuple[Tensor, list[KeysValues]]:
        """Return the states before the last layer [batch, length, hidden], and the keys and values so far."""
        x = self.embed_tokens(tokens)
        if self.training:
            x = x + _NOISE * x.detach().pow(2).mean().sqrt() * torch.randn_like(x)
        kept: list[KeysValues] = []
        for index in range(len(self.layers) - 1):
            x, keys_values = self._through(index, x, prefix)
            kept.append(keys_values)
        return x, kept

    def _through(self, index: int, x: Tensor, prefix: list[KeysValues] | None) -> tuple[Tensor, KeysValues]:
        """Run one layer, at the positions after the prefix."""
        start = 0 if prefix is None else prefix[0][0].shape[2]
        angles = rotary_angles(self.shape, start, x.shape[1], x.device)
        through: tuple[Tensor, KeysValues] = self.layers[index](
            x, angles, None if prefix is None else prefix[index]
        )
        return through

    def logits(self, hidden: Tensor) -> Tensor:
        """Map [..., hidden] to [..., vocabulary]."""
        out: Tensor = self.lm_head(hidden)
        return out


def rotary_angles(shape: Shape, start: int, length: int, device: torch.device) -> KeysValues:
    """Return cosines and sines of positions start .. start + length, [length, head_dim] each (Su
    et al., RoFormer, 2021).
    """
    half = torch.arange(0, shape.hidden // shape.heads, 2, device=device) / (shape.hidden // shape.heads)
    positions = torch.arange(start, start + length, device=device, dtype=torch.float32)
    angle = torch.outer(positions, shape.rope_theta**-half).repeat(1, 2)
    return angle.cos(), angle.sin()


def rotate(x: Tensor, angles: KeysValues) -> Tensor:
    """Rotate [batch, heads, length, head_dim] by its positions; halves are paired as in Hugging Face."""
    cos, sin = angles
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin
