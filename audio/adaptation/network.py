"""Moonshine in PyTorch, with the weights of the recognizer's files and trainable corrections."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu
from transformers import MoonshineConfig, MoonshineForConditionalGeneration

from audio.onnx.runtime import OrtFile
from audio.recognizers.low_rank import Correction, Floats

_EMBEDDING = "model.decoder.embed_tokens.weight"
_MERGED = "_merged_0"  # suffix of constants that both branches of the decoder share
_GROUPNORM = {"weight": "/groupnorm/Mul", "bias": "/groupnorm/Add"}
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_FEED_FORWARD = ("fc1", "fc2")


class Corrected(nn.Module):
    """A frozen linear layer plus a trainable low-rank product, initially zero (LoRA)."""

    def __init__(self, fixed: nn.Linear, rank: int) -> None:
        super().__init__()
        self.fixed = fixed
        self.down = nn.Parameter(torch.randn(fixed.in_features, rank) / math.sqrt(fixed.in_features))
        self.up = nn.Parameter(torch.zeros(rank, fixed.out_features))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the sum of both for inputs [..., in]."""
        fixed: Tensor = self.fixed(inputs)
        return fixed + inputs @ self.down @ self.up


class MoonshineNetwork(nn.Module):
    """A tiny Moonshine from its two files, with low-rank corrections of all matrices of its encoder.

    Raises OSError, or ValueError if the files are not a tiny Moonshine.
    """

    def __init__(self, encoder: Path, decoder: Path, rank: int) -> None:
        super().__init__()
        model: Any = MoonshineForConditionalGeneration(MoonshineConfig())
        try:
            weights = {**_encoder(OrtFile(encoder)), **_decoder(OrtFile(decoder))}
            model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
        except (KeyError, RuntimeError) as error:
            raise ValueError(f"{encoder} and {decoder} are no tiny Moonshine: {error}") from error
        model.eval().requires_grad_(False)
        self._encoder, self._decoder, self._head = model.model.encoder, model.model.decoder, model.proj_out
        self._corrected: dict[str, Corrected] = {}
        for number, layer in enumerate(self._encoder.layers):
            for part, names in (("self_attn", _ATTENTION), ("mlp", _FEED_FORWARD)):
                inside = getattr(layer, part)
                for name in names:
                    corrected = Corrected(getattr(inside, name), rank)
                    setattr(inside, name, corrected)
                    self._corrected[f"layers.{number}.{part}.{name}"] = corrected

    @property
    def learned(self) -> list[nn.Parameter]:
        """All trainable parameters."""
        return [half for each in self._corrected.values() for half in (each.down, each.up)]

    def corrections(self, share: float) -> dict[str, Correction]:
        """Return the corrections scaled by `share`, by the places of the matrices."""
        return {
            place: Correction(_array(each.down), _array(each.up) * share)
            for place, each in self._corrected.items()
        }

    @torch.no_grad()
    def front_end(self, sound: Tensor) -> Tensor:
        """Return the output of the convolutions for `sound` [n] at 16 kHz, in -1 to 1: [length, hidden].

        One sound at a time: the normalization covers all of it, so padding would change the result.
        """
        waves = self._encoder.groupnorm(torch.tanh(self._encoder.conv1(sound[None, None])))
        waves = gelu(self._encoder.conv3(gelu(self._encoder.conv2(waves))))
        return waves[0].T.contiguous()

    def forward(self, features: Tensor, feature_mask: Tensor, tokens: Tensor) -> Tensor:
        """Return the logits [batch, count, vocabulary] of the token after each.

        features: output of `front_end`, padded to [batch, length, hidden]. feature_mask: [batch, length],
        false at padding. tokens: [batch, count].
        """
        positions = torch.arange(features.shape[1])[None]
        angles = self._encoder.rotary_emb(features, position_ids=positions)
        mask = torch.zeros(feature_mask.shape).masked_fill(~feature_mask, torch.finfo(torch.float32).min)[
            :, None, None
        ]
        for layer in self._encoder.layers:
            features = layer(
                features, attention_mask=mask, position_ids=positions, position_embeddings=angles
            )
        states = self._encoder.layer_norm(features)
        decoded = self._decoder(
            input_ids=tokens,
            encoder_hidden_states=states,
            encoder_attention_mask=feature_mask.int(),
            use_cache=False,
        )
        logits: Tensor = self._head(decoded.last_hidden_state)
        return logits


def _encoder(file: OrtFile) -> dict[str, Floats]:
    weights = {name.removesuffix("_add_tensor"): value for name, value in _parameters(file).items()}
    weights |= {f"{place}.weight": file.matrix(place).T for place in file.places}
    for half, node in _GROUPNORM.items():
        weights[f"groupnorm.{half}"] = file.floats_of(node)[0][:, 0]
    return {f"model.encoder.{name}": value for name, value in weights.items()}


def _decoder(file: OrtFile) -> dict[str, Floats]:
    weights = {name.removesuffix(_MERGED): value for name, value in _parameters(file).items()}
    weights |= {f"{place}.weight": file.matrix(place).T for place in file.places if ".layers." in place}
    weights[_EMBEDDING] = weights["proj_out.weight"] = file.eight_bit(_EMBEDDING + _MERGED)
    return weights


def _parameters(file: OrtFile) -> dict[str, Floats]:
    """Return the file's constants that are named like the network's parameters, with a suffix."""
    kinds = (".weight", ".bias", ".weight_add_tensor", f".weight{_MERGED}", f".bias{_MERGED}")
    return {name: value for name, value in file.floats().items() if name.endswith(kinds)}


def _array(parameter: nn.Parameter) -> Floats:
    array: Floats = parameter.detach().numpy()
    return array
