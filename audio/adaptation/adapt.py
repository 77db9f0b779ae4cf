"""Fine-tuning of Moonshine: from a table of recordings to the recognizer's `adapter` file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from audio.adaptation.batches import Example, groups
from audio.adaptation.learning import learn
from audio.adaptation.network import MoonshineNetwork
from audio.adaptation.recordings import read_recordings, varied
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN, END, numbers_of, read_vocabulary, tokens_of
from audio.recognizers.low_rank import write_corrections
from audio.recognizers.moonshine_model import model_files

_RANK = 8
_SEED = 0


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
    torch.manual_seed(_SEED)
    encoder, decoder, vocabulary = model_files(model)
    network = MoonshineNetwork(encoder, decoder, _RANK)
    numbers = numbers_of(read_vocabulary(vocabulary.read_bytes()))
    examples = _examples(table, network, numbers)
    learn(network, [group for epoch in range(epochs) for group in groups(examples, _SEED + epoch)])
    write_corrections(out, network.corrections(share))


def _examples(table: Path, network: MoonshineNetwork, numbers: dict[bytes, int]) -> list[Example]:
    """Return the training examples. Raises OSError, ValueError."""
    rng = np.random.default_rng(_SEED)
    examples = []
    for recording in tqdm(read_recordings(table), desc="listening", unit="recording", mininterval=10):
        sound = torch.from_numpy(varied(recording.sound, rng).astype(np.float32)) / 32_768
        words = [token for word in recording.text.split() for token in tokens_of(word, numbers)]
        examples.append(Example(network.front_end(sound).bfloat16(), [BEGIN, *words, END]))
    if not examples:
        raise ValueError(f"{table} is empty")
    return examples
