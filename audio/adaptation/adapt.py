"""Fine-tuning of Moonshine: from a table of recordings to the recognizer's `adapter` file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from audio.adaptation.network import MoonshineNetwork
from audio.adaptation.recordings import (
    Batch,
    Example,
    Recording,
    groups,
    padded_batch,
    read_recordings,
    varied,
)
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN, END, numbers_of, read_vocabulary, tokens_of
from audio.recognizers.low_rank import write_corrections
from audio.recognizers.moonshine_files import model_files

_LEARNING_RATE = 1e-3
_WARM_UP_STEPS = 50
_DECAY = 0.7  # share of the steps, at the end, in which the rate falls to 0
_MAX_GRADIENT = 1.0
_LEFT_OUT = -100  # label that the loss ignores
_RANK = 8
_SEED = 0


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


def adapt(table: Path, out: Path, model: Path | None, share: float, epochs: int) -> None:
    """Learn low-rank corrections of the encoder's matrices and write them to `out`.

    table: lines of a WAV file, a tab, and its transcript as it should be written. model: folder of a tiny
    Moonshine; None for the installed one. share: fraction of the corrections to apply, above 0, at most 1;
    more of it makes other voices worse. epochs: passes over the recordings. Raises ValueError, OSError,
    RecognizerError.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}; allowed: more than 0, 1 at most")
    if epochs < 1:
        raise ValueError(f"epochs is {epochs}; allowed: 1 or more")
    if not out.parent.is_dir():  # checked before the training, whose result would be lost
        raise ValueError(f"out is {out}, and there is no folder {out.parent}")
    recordings = read_recordings(table)  # before the model, which takes a while
    torch.manual_seed(_SEED)
    encoder, decoder, vocabulary = model_files(model)
    network = MoonshineNetwork(encoder, decoder, _RANK)
    numbers = numbers_of(read_vocabulary(vocabulary.read_bytes()))
    examples = _examples(recordings, network, numbers)
    if not examples:
        raise ValueError(f"{table} is empty")
    learn(network, [group for epoch in range(epochs) for group in groups(examples, _SEED + epoch)])
    write_corrections(out, network.corrections(share))


def _examples(
    recordings: Iterable[Recording], network: MoonshineNetwork, numbers: dict[bytes, int]
) -> list[Example]:
    """Return the training examples. Raises OSError, ValueError."""
    rng = np.random.default_rng(_SEED)
    examples = []
    for recording in tqdm(recordings, desc="listening", unit="recording", mininterval=10):
        sound = torch.from_numpy(varied(recording.sound, rng).astype(np.float32)) / 32_768
        words = [token for word in recording.text.split() for token in tokens_of(word, numbers)]
        examples.append(Example(network.front_end(sound).bfloat16(), [BEGIN, *words, END]))
    return examples
