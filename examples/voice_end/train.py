"""Trainer of the end-of-voice network: `python -m examples.voice_end.train OUT.npz FOLDER...`

The folders hold WAV files of speech, as clean as possible, at any depth. Each file is used twice, in
different rooms and noises; 15 h of calls take some 3 min to generate and 30 s an epoch. Prints, for held-out
calls, the delay of detected ends and the number of false ends within a voice, by threshold.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, SileroVad, installed_model
from audio.onnx.runtime import onnx_session
from audio.onnx.silero_graph import INPUT_SAMPLES, STATES, silero_graph
from audio.onnx.silero_graph import WINDOWS as SOUND
from audio.onnx.voice_end_graph import BANDS, LOOKED_AT, MEMORY
from audio.pcm import Samples
from audio.resample import resample
from audio.wav import read_wav
from examples.voice_end.examples import WINDOWS, Example, examples

SEEN = 128
LOOKED = SEEN + 4 * BANDS + 1
SILENCE_S = 0.25
"""Silence that ends a voice; a shorter one lies within words."""
TIMES, EPOCHS, BATCH, RATE = 2, 16, 96, 6e-3
SEED = 3
"""Best of the seeds 1 to 3, by the ends in held-out calls."""
HELD_OUT = 12
"""One in this many folders with files is held out; each folder is one speaker's."""
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
_BANDS_MEAN, _BANDS_SCALE = -4.0, 2.0
"""Rough mean and scale of the logarithms of the bands."""

Floats = NDArray[np.float32]
Calls = tuple[list[torch.Tensor], torch.Tensor]
"""Inputs of each call's windows, [windows, 209], and labels: seconds since the voice ended and of
silence, [calls, windows, 2].
"""


class Network(torch.nn.Module):
    """The network of `voice_end_graph`, with an auxiliary output used in training: the presence
    of a voice.
    """

    def __init__(self) -> None:
        super().__init__()
        self.look = torch.nn.Linear(LOOKED, MEMORY)
        self.memory = torch.nn.GRU(MEMORY, MEMORY, batch_first=True)
        self.end = torch.nn.Linear(MEMORY, 3)

    def forward(self, looked_at: torch.Tensor) -> torch.Tensor:
        """Map [calls, windows, 209] to [calls, windows, 3]."""
        remembered, _ = self.memory(torch.relu(self.look(looked_at)))
        predicted: torch.Tensor = self.end(remembered)
        return predicted


class InputExtractor:
    """Extractor of the network's inputs: values inside Silero's graph."""

    def __init__(self) -> None:
        model = onnx.load_model_from_string(silero_graph(installed_model()))
        model.graph.output.append(onnx.helper.make_tensor_value_info(LOOKED_AT, 1, ["b", LOOKED]))
        self._session: Any = onnx_session(model.SerializeToString())
        vad = SileroVad()
        vad.load()
        self._after_silence = vad.after_silence

    def extract(self, sounds: Sequence[Samples]) -> NDArray[np.float16]:
        """Return the inputs [calls, windows, 209] of sounds of 12 s."""
        padded = np.pad(np.stack(sounds), ((0, 0), (INPUT_SAMPLES - WINDOW_SAMPLES, 0))) / np.float32(32_768)
        states = np.repeat(self._after_silence[np.newaxis], len(sounds), axis=0)
        inputs: NDArray[np.float16] = np.empty((len(sounds), WINDOWS, LOOKED), np.float16)
        for window in range(WINDOWS):
            begin = window * WINDOW_SAMPLES
            sound = np.ascontiguousarray(padded[:, begin : begin + INPUT_SAMPLES])
            inputs[:, window], states = self._session.run(
                [LOOKED_AT, "new_states"], {SOUND: sound, STATES: states}
            )
        inputs[..., SEEN:-1] = (inputs[..., SEEN:-1] - _BANDS_MEAN) / _BANDS_SCALE
        return inputs


def recordings(files: Sequence[Path]) -> list[Samples]:
    """Return the files' samples at 16 kHz."""
    return [resample(*read_wav(path), SAMPLE_RATE_HZ) for path in files]


def calls_of(sounds: Sequence[Samples], times: int, seed: int) -> Calls:
    """Generate calls in which each sound is used `times` times."""
    extractor, random = InputExtractor(), np.random.default_rng(seed)
    inputs: list[torch.Tensor] = []
    labels: list[Floats] = []
    for _ in range(times):
        made = examples(sounds, random)
        while batch := list(islice(made, 32)):
            inputs += torch.from_numpy(extractor.extract([one.sound for one in batch]))
            labels += [_label(one) for one in batch]
    return inputs, torch.from_numpy(np.stack(labels))


def _label(example: Example) -> Floats:
    return np.stack([example.since_s, example.silence_s], axis=1).astype(np.float32)


def loss(predicted: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the loss.

    Windows just after an end weigh most, those in silences that are nearly long enough hardly at all, and
    those long after an end less.
    """
    since_s, silence_s = labels[..., 0], labels[..., 1]
    behind, long = since_s >= 0, silence_s >= SILENCE_S
    weights = torch.ones_like(since_s)
    weights[(since_s > 0.6) & long] = 0.3
    weights[behind & (since_s < 0.3) & long] = 2.0
    weights[(since_s > 0) & ~long & (silence_s >= 0.12)] = 0.3
    weights[(since_s > 0) & ~long & (silence_s >= 0.18)] = 0.05
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    of_end = entropy(predicted[..., 0], (behind & long).float(), weights)
    of_voice = entropy(predicted[..., 2], (since_s <= 0.016).float())
    near = (behind & (since_s < 0.35) & (silence_s >= 0.12)).float()
    of_time = (near * (predicted[..., 1] - 10 * since_s).abs()).sum() / near.sum()
    return of_end + 0.3 * of_voice + 0.2 * of_time


def learn(inputs: list[torch.Tensor], labels: torch.Tensor) -> Network:
    """Train a network on these calls; prints the loss of each epoch."""
    torch.manual_seed(SEED)
    network, order = Network(), np.random.default_rng(SEED)
    steps = len(inputs) // BATCH
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=EPOCHS * steps, pct_start=0.1)
    for epoch in range(EPOCHS):
        shuffled, left = order.permutation(len(inputs)), 0.0
        for step in range(steps):
            batch = torch.from_numpy(shuffled[step * BATCH : (step + 1) * BATCH])
            lost = loss(network(torch.stack([inputs[index] for index in batch]).float()), labels[batch])
            optimizer.zero_grad()
            lost.backward()  # type: ignore[no-untyped-call]  # PyTorch's own
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            left += lost.item() / steps
        print(f"epoch {epoch + 1}: {left:.4f}", flush=True)
    return network


def weights_of(network: Network) -> dict[str, NDArray[np.float16]]:
    """Return the weights by the names of `voice_end_graph`."""
    of = {name: value.numpy() for name, value in network.state_dict().items()}
    look = of["look.weight"].copy()
    look[:, SEEN:-1] /= _BANDS_SCALE
    arranged = {
        "look_weights": look.T,
        "look_bias": of["look.bias"] - _BANDS_MEAN * look[:, SEEN:-1].sum(axis=1),
        "looked_weights": of["memory.weight_ih_l0"].T,
        "looked_bias": of["memory.bias_ih_l0"],
        "before_weights": of["memory.weight_hh_l0"].T,
        "before_bias": of["memory.bias_hh_l0"],
        "end_weights": (of["end.weight"][:2] * [[1], [0.1]]).T,
        "end_bias": of["end.bias"][:2] * [1, 0.1],
    }
    return {name: np.ascontiguousarray(value, np.float16) for name, value in arranged.items()}


def print_quality(network: Network, inputs: list[torch.Tensor], labels: torch.Tensor) -> None:
    """Print the delay of detected ends, and how many are in a voice or a silence of less than 0.12 s."""
    with torch.no_grad():
        ended = torch.sigmoid(network(torch.stack(inputs).float()))[..., 0].numpy()
    since_s, silence_s = labels.numpy().transpose(2, 0, 1)
    begins = (since_s >= 0) & (since_s < WINDOW_SAMPLES / SAMPLE_RATE_HZ) & (silence_s >= SILENCE_S)
    for threshold in THRESHOLDS:
        predicted = ended >= threshold
        newly = predicted & ~np.pad(predicted, ((0, 0), (1, 0)))[:, :-1]
        early = int(np.sum(newly & (silence_s < 0.12)))
        late_ms = [
            1000 * since_s[call, window + np.argmax(predicted[call, window:])]
            for call, window in np.argwhere(begins)
            if predicted[call, window:].any()
        ]
        p50, p95 = np.percentile(late_ms or [np.nan], (50, 95))
        print(f"{threshold}: {len(late_ms)} ends told after {p50:.0f}, {p95:.0f} ms; {early} in a voice")


def main() -> None:
    """Train, evaluate, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    files = sorted(path for folder in options.folders for path in folder.rglob("*.[wW][aA][vV]"))
    speakers = sorted({path.parent for path in files})
    held_out = set(speakers[HELD_OUT - 1 :: HELD_OUT])
    taught = calls_of(recordings([path for path in files if path.parent not in held_out]), TIMES, seed=1)
    network = learn(*taught)
    print_quality(
        network, *calls_of(recordings([path for path in files if path.parent in held_out]), 1, seed=2)
    )
    np.savez_compressed(options.out, allow_pickle=False, **weights_of(network))


if __name__ == "__main__":
    main()
