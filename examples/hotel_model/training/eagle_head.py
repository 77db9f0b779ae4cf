"""EAGLE-3 head, which proposes the demo model's next tokens from its states (Li et al., EAGLE-3, 2025).

One layer reads, at each position, the next token together with the model's states for this one: those after a
low, a middle and a high layer, concatenated. Further ahead it reads its own states instead; so it is trained
as it is used, some tokens ahead of the model ("training-time test"). Its vocabulary is a subset of the
model's, and it uses the model's embedding. Weights and sums are those of vLLM's `llama_eagle3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.hotel_model.training.network import FeedForward, KeysValues, Llama, Shape, rotary_angles, rotate


@dataclass(frozen=True, slots=True)
class HeadShape:
    """Sizes of a head.

    target: of its model, whose width and attention it shares. after: layers, counted from 1, after which it
    reads the model's states. feed_forward: of its layer.
    """

    target: Shape
    feed_forward: int = 512
    after: tuple[int, ...] = (1, 2, 4)


class Read(NamedTuple):
    """Outputs of the frozen model for tokens [batch, length].

    states: those the head reads, concatenated [batch, length, hidden times layers]. hidden: the last ones,
    normalized [batch, length, hidden]. keys_values: of every layer.
    """

    states: Tensor
    hidden: Tensor
    keys_values: list[KeysValues]


@torch.no_grad()
def read(target: Llama, tokens: Tensor, after: Sequence[int], prefix: list[KeysValues] | None = None) -> Read:
    """Run the model on tokens [batch, length] after the shared prefix, whose keys and values have
    batch size one.
    """
    start = 0 if prefix is None else prefix[0][0].shape[2]
    angles = rotary_angles(target.shape, start, tokens.shape[1], tokens.device)
    x = target.embed_tokens(tokens)
    states: list[Tensor] = []
    kept: list[KeysValues] = []
    for index, layer in enumerate(target.layers):
        x, keys_values = layer(x, angles, None if prefix is None else prefix[index])
        states.append(x)
        kept.append(keys_values)
    return Read(torch.cat([states[layer - 1] for layer in after], dim=-1), target.norm(x), kept)


class HeadAttention(nn.Module):
    """Attention over concatenated tokens and states, in a pass that may be some tokens ahead."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q_proj = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.k_proj = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.v_proj = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.o_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)

    def forward(
        self, x: Tensor, angles: KeysValues, passes: Sequence[KeysValues], prefix: KeysValues | None
    ) -> tuple[Tensor, KeysValues]:
        """Return the output [batch, length, hidden], and the keys and values of x.

        x: [batch, length, 2 hidden]. passes: keys and values of the earlier passes.
        """
        q, k, v = (
            project(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, kept = rotate(q, angles), (rotate(k, angles), v.float())
        with torch.autocast(x.device.type, enabled=False):  # as in `network.Attention`
            attended = attention_ahead(q, (*passes, kept), prefix)
        return self.o_proj(attended.transpose(1, 2).flatten(2)), kept


def attention_ahead(q: Tensor, passes: Sequence[KeysValues], prefix: KeysValues | None) -> Tensor:
    """Return the attention of a pass that is n = len(passes) - 1 tokens ahead of the model.

    q: [batch, heads, length, head_dim]; passes: keys and values of the same shape, of each pass from the
    first to this one. Position p sees the first pass up to p - n, where the model was, and in each later pass
    the single position that led here: p - n + 1, ..., p. It sees the whole prefix.
    """
    ahead, length = len(passes) - 1, q.shape[2]
    (first_k, first_v), *later = passes
    if prefix is not None:
        first_k, first_v = (
            torch.cat([before.expand(q.shape[0], -1, -1, -1), first], dim=2)
            for before, first in zip(prefix, (first_k, first_v), strict=True)
        )
    known = first_k.shape[2] - length
    seen = torch.ones(length, known + length, dtype=torch.bool, device=q.device).tril(known - ahead)
    led = [(_shifted(k, places), _shifted(v, places)) for places, (k, v) in enumerate(later[::-1])]
    scores = (q @ first_k.mT).masked_fill(~seen, torch.finfo(q.dtype).min)
    ways = [(q * k).sum(-1, keepdim=True) for k, _ in led]
    shares = (torch.cat([scores, *ways], dim=-1) / q.shape[-1] ** 0.5).softmax(-1)
    out: Tensor = shares[..., : known + length] @ first_v
    for index, (_, v) in enumerate(led):
        out = out + shares[..., known + length + index].unsqueeze(-1) * v
    return out


def _shifted(x: Tensor, places: int) -> Tensor:
    """Shift x [..., length, dim] towards later positions, filling with zeros."""
    return functional.pad(x, (0, 0, places, 0))[..., : x.shape[-2], :]


class HeadLayer(nn.Module):
    """The layer: a Llama layer with two inputs, each normalized separately."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        hidden, epsilon = shape.target.hidden, shape.target.norm_epsilon
        self.input_layernorm = nn.RMSNorm(hidden, epsilon)
        self.hidden_norm = nn.RMSNorm(hidden, epsilon)
        self.self_attn = HeadAttention(shape.target)
        self.post_attention_layernorm = nn.RMSNorm(hidden, epsilon)
        self.mlp = FeedForward(
            Shape(0, hidden, 1, shape.target.heads, shape.feed_forward, norm_epsilon=epsilon)
        )

    def forward(
        self,
        embedded: Tensor,
        states: Tensor,
        angles: KeysValues,
        passes: Sequence[KeysValues] = (),
        prefix: KeysValues | None = None,
    ) -> tuple[Tensor, KeysValues]:
        """Return states, and keys and values. embedded, states: [batch, length, hidden]."""
        both = torch.cat([self.input_layernorm(embedded), self.hidden_norm(states)], dim=-1)
        attended, kept = self.self_attn(both, angles, passes, prefix)
        x = states + attended
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out, kept


class EagleHead(nn.Module):
    """The head, initialized from its model's treatment of the last state it reads.

    proposed: [head's vocabulary], the model's tokens that it can propose, in order.
    """

    proposed: Tensor

    def __init__(self, shape: HeadShape, proposed: Tensor, target: Llama) -> None:
        super().__init__()
        hidden = shape.target.hidden
        self.shape = shape
        self.fc = nn.Linear(len(shape.after) * hidden, hidden, bias=False)
        self.midlayer = HeadLayer(shape)
        self.norm = nn.RMSNorm(hidden, shape.target.norm_epsilon)
        self.lm_head = nn.Linear(hidden, len(proposed), bias=False)
        self.register_buffer("proposed", proposed)
        with torch.no_grad():
            for matrix in (self.midlayer.self_attn.o_proj.weight, self.midlayer.mlp.down_proj.weight):
                matrix.mul_(0.1)
            self.norm.weight.copy_(target.norm.weight)
            self.lm_head.weight.copy_(target.lm_head.weight[proposed])

    def logits(self, states: Tensor) -> Tensor:
        """Map [..., hidden] to [..., head's vocabulary]."""
        out: Tensor = self.lm_head(self.norm(states))
        return out

    def read_prefix(self, target: Llama, tokens: Tensor, states: Tensor, first: Tensor) -> KeysValues:
        """Return keys and values of a prefix's tokens [1, length], given the model's states;
        `first` [1, 1] is the token after it.
        """
        following = target.embed_tokens(torch.cat([tokens[:, 1:], first], dim=1)).detach()
        angles = rotary_angles(self.shape.target, 0, tokens.shape[1], tokens.device)
        kept: KeysValues = self.midlayer(following, self.fc(states), angles)[1]
        return kept

    def passes(
        self, target: Llama, tokens: Tensor, states: Tensor, ahead: int, prefix: KeysValues | None = None
    ) -> list[Tensor]:
        """Return the states [batch, length - 1, hidden] of passes that are 0, ..., `ahead` - 1 tokens ahead
        of the model.

        tokens: [batch, length], with the model's states. At position p a pass reads token p + 1 and predicts
        token p + 2.
        """
        following = target.embed_tokens(tokens[:, 1:]).detach()
        start = 0 if prefix is None else prefix[0].shape[2]
        angles = rotary_angles(self.shape.target, start, following.shape[1], tokens.device)
        own: Tensor = self.fc(states[:, :-1])
        found: list[Tensor] = []
        kept: list[KeysValues] = []
        for number in range(ahead):
            if number:
                own = _shifted(own, 1)
            own, keys_values = self.midlayer(following, own, angles, kept, prefix)
            kept.append(keys_values)
            found.append(own)
        return found
