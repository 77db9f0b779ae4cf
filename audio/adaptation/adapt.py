"""Teaches Moonshine: from a table of recordings to the file that the recognizer takes as its `adapter`."""

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
    """Learn corrections to the encoder's matrices and write them to `out`.

    table: a WAV file and its words a line, as they should be written, with a tab between them. model: a
    folder with a tiny Moonshine, None for the installed one. share: how much of what is learned is used,
    above 0 to 1; with more, other voices are heard worse. epochs: how often each recording is learned from.
    Raises ValueError, OSError, RecognizerError.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}; allowed: more than 0, 1 at most")
    if epochs < 1:
        raise ValueError(f"epochs is {epochs}; allowed: 1 or more")
    if not out.parent.is_dir():  # refused before the work, which would be lost
        raise ValueError(f"out is {out}, and there is no folder {out.parent}")
    torch.manual_seed(_SEED)
    encoder, decoder, vocabulary = model_files(model)
    network = MoonshineNetwork(encoder, decoder, _RANK)
    numbers = numbers_of(read_vocabulary(vocabulary.read_bytes()))
    examples = _examples(table, network, numbers)
    learn(network, [group for epoch in range(epochs) for group in groups(examples, _SEED + epoch)])
    write_corrections(out, network.corrections(share))


def _examples(table: Path, network: MoonshineNetwork, numbers: dict[bytes, int]) -> list[Example]:
    """What the network is taught with. Raises OSError, ValueError."""
    rng = np.random.default_rng(_SEED)
    examples = []
    for recording in tqdm(read_recordings(table), desc="listening", unit="recording", mininterval=10):
        sound = torch.from_numpy(varied(recording.sound, rng).astype(np.float32)) / 32_768
        words = [token for word in recording.text.split() for token in tokens_of(word, numbers)]
        examples.append(Example(network.front_end(sound).bfloat16(), [BEGIN, *words, END]))
    if not examples:
        raise ValueError(f"{table} is empty")
    return examples
