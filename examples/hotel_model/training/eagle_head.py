"""A head that proposes what the demo model says next, from the model's own states (Li et al., EAGLE-3, 2025).

One layer reads, at each place, the token that comes next together with what the model made of this one: its
states after a low, a middle and a high layer, joined. Further on it has no such states and reads its own: so
it is trained as it is used, some tokens ahead of the model ("training-time test"). Its vocabulary is a part
of the model's, whose embedding it reads. Weights and sums are those of vLLM's `llama_eagle3`.
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
    """The sizes of a head. target: of its model, whose width and attention it has.

    after: the layers, counted from 1, behind which it reads the model's states. feed_forward: of its layer.
    """

    target: Shape
    feed_forward: int = 512
    after: tuple[int, ...] = (1, 2, 4)


class Read(NamedTuple):
    """What the model, which does not learn, makes of tokens [batch, length].

    states: those the head reads, side by side [batch, length, hidden times layers]. hidden: the normed last
    ones [batch, length, hidden]. keys_values: every layer's.
    """

    states: Tensor
    hidden: Tensor
    keys_values: list[KeysValues]


@torch.no_grad()
def read(target: Llama, tokens: Tensor, after: Sequence[int], prefix: list[KeysValues] | None = None) -> Read:
    """Read tokens [batch, length] that follow the shared prefix: keys and values of a batch of one."""
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
    """Attention over tokens and states side by side, of a pass that may be some tokens ahead."""

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
        """x: [batch, length, 2 hidden]. passes: keys and values of the passes before. Returns
        [batch, length, hidden], and the keys and values of x.
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
    """What a pass attends to that is n = len(passes) - 1 tokens ahead of the model. q: [batch, heads, length,
    head_dim]; passes: keys and values of the same shape, of each pass from the first to this one.

    At place p it sees the first pass up to p - n, where the model was, and of each later one the single place
    that led here: p - n + 1, ..., p. The prefix it sees whole.
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
    """x [..., length, dim] moved towards later places; the first ones are nothing."""
    return functional.pad(x, (0, 0, places, 0))[..., : x.shape[-2], :]


class HeadLayer(nn.Module):
    """The layer: as a Llama's, but that it reads two things, each normed by itself."""

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
        """embedded, states: [batch, length, hidden]. Returns states of that shape, and keys and values."""
        both = torch.cat([self.input_layernorm(embedded), self.hidden_norm(states)], dim=-1)
        attended, kept = self.self_attn(both, angles, passes, prefix)
        x = states + attended
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out, kept


class EagleHead(nn.Module):
    """The head, which begins as what its model makes of the last state it reads.

    proposed: [head's vocabulary], the tokens of the model that it can propose, in order.
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
        """[..., hidden] -> [..., head's vocabulary]."""
        out: Tensor = self.lm_head(self.norm(states))
        return out

    def read_prefix(self, target: Llama, tokens: Tensor, states: Tensor, first: Tensor) -> KeysValues:
        """Keys and values of a prefix's tokens [1, length], which the model read with these states; `first`
        [1, 1] is the token that follows it.
        """
        following = target.embed_tokens(torch.cat([tokens[:, 1:], first], dim=1)).detach()
        angles = rotary_angles(self.shape.target, 0, tokens.shape[1], tokens.device)
        kept: KeysValues = self.midlayer(following, self.fc(states), angles)[1]
        return kept

    def passes(
        self, target: Llama, tokens: Tensor, states: Tensor, ahead: int, prefix: KeysValues | None = None
    ) -> list[Tensor]:
        """The states [batch, length - 1, hidden] of passes that are 0, ..., `ahead` - 1 tokens ahead of the
        model, which read the tokens [batch, length] with these states.

        At place p a pass reads token p + 1 and tells of token p + 2.
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
