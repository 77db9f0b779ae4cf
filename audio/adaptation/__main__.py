"""Teach Moonshine the voices and lines of your callers: `python -m audio.adaptation recordings.tsv`.

The table has a WAV file and its words a line, as they should be written, with a tab between them. What is
learned, corrections to the encoder's matrices, is the recognizer's `adapter`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from audio.adaptation.batches import Example, groups
from audio.adaptation.learning import learn
from audio.adaptation.network import MoonshineNetwork
from audio.adaptation.recordings import read_recordings, varied
from audio.recognizers import RecognizerError
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN, END, numbers_of, read_vocabulary, tokens_of
from audio.recognizers.low_rank import write_corrections
from audio.recognizers.moonshine_model import model_files

_RANK = 8
_SHARE = 0.4
_SEED = 0


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m audio.adaptation", description=__doc__)
    parser.add_argument("recordings", type=Path, help="the table")
    parser.add_argument("--out", type=Path, default=Path("adapter.npz"), help="the file that is written")
    parser.add_argument(
        "--model", type=Path, help="a folder with a tiny Moonshine; left out, the installed one"
    )
    parser.add_argument(
        "--share", type=float, default=_SHARE, help="of what is learned; with more, others are heard worse"
    )
    parser.add_argument("--epochs", type=int, default=1, help="how often each recording is learned from")
    options = parser.parse_args(arguments)
    if not 0 < options.share <= 1:
        parser.error(f"--share is {options.share}; allowed: more than 0, 1 at most")
    if options.epochs < 1:
        parser.error(f"--epochs is {options.epochs}; allowed: 1 or more")
    if not options.out.parent.is_dir():  # refused before the work, which would be lost
        parser.error(f"--out is {options.out}, and there is no folder {options.out.parent}")
    torch.manual_seed(_SEED)
    try:
        encoder, decoder, vocabulary = model_files(options.model)
        network = MoonshineNetwork(encoder, decoder, _RANK)
        numbers = numbers_of(read_vocabulary(vocabulary.read_bytes()))
        examples = _examples(options.recordings, network, numbers)
    except (OSError, ValueError, RecognizerError) as error:
        parser.error(str(error))
    learn(network, [group for epoch in range(options.epochs) for group in groups(examples, _SEED + epoch)])
    write_corrections(options.out, network.corrections(options.share))


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


if __name__ == "__main__":
    main()
