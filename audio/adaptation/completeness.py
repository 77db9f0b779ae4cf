"""Training of the turn completeness network: `python -m audio.adaptation.completeness FOLDER...`.

The folders hold WAV files of speech, at any depth; a folder given twice counts twice. Writes the weights for
`audio.recognizers.completeness`, for the encoder of the installed Moonshine.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from audio.adaptation.complete_turns import Models, PauseExample, pause_examples
from audio.detection.smart_turn import SmartTurn
from audio.detection.vad import SileroVad
from audio.recognizers.completeness import LAST, STATES, WEIGHTS, encoder_hash
from audio.recognizers.moonshine_decoder import EncoderDecoder
from audio.recognizers.moonshine_files import model_files

WIDTH = 32
HEADS = 2
"""Heads of the attention that pools over time."""
NEIGHBOURS = 5
STATE_DROPPED, DROPPED = 0.4, 0.3
"""Dropout of states and of hidden layers."""
EPOCHS = 10
BATCH = 64
RATE = 2e-3
WEIGHT_DECAY = 1e-2
SEED = 0

Floats = NDArray[np.float32]


class CompletenessNetwork(nn.Module):
    """The network to train. mean, spread: normalization of each dimension of a state, [hidden]."""

    def __init__(self, mean: Tensor, spread: Tensor) -> None:
        super().__init__()
        self.mean, self.spread = mean, spread
        self.input = nn.Linear(len(mean), WIDTH)
        self.position = nn.Parameter(torch.zeros(STATES, WIDTH))
        self.near = nn.Linear(NEIGHBOURS * WIDTH, WIDTH)
        self.far = nn.Linear(NEIGHBOURS * WIDTH, WIDTH)
        self.attention = nn.Linear(WIDTH, HEADS)
        self.inner = nn.Linear((HEADS + 1) * WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, 1)
        self.state_dropped, self.dropped = nn.Dropout(STATE_DROPPED), nn.Dropout(DROPPED)

    def forward(self, states: Tensor, known: Tensor) -> Tensor:
        """Return the log odds that turns are complete, [batch].

        states: [batch, STATES, hidden]. known: [batch, STATES, 1], 0.0 at padding.
        """
        normal = self.state_dropped((states - self.mean) / self.spread)
        hidden = self.dropped(torch.relu(self.input(normal) * known + self.position) * known)
        hidden = hidden + torch.relu(self.near(_neighbours(hidden)))
        hidden = self.dropped(torch.relu(self.far(_neighbours(hidden * known)[:, ::2])))
        attention = self.attention(hidden).masked_fill(known[:, ::2] == 0, -1e4).softmax(dim=1)
        attended = (attention.transpose(1, 2) @ hidden).flatten(1)
        summed = torch.cat([attended, hidden[:, -LAST:].mean(dim=1)], dim=1)
        inner = torch.relu(self.inner(self.dropped(summed)))
        log_odds: Tensor = self.output(inner)[:, 0]
        return log_odds

    def weights(self) -> dict[str, Floats]:
        """Return the weights by the names used in `audio.recognizers.completeness`.

        The normalization of the states is folded into the first layer.
        """
        layers = ("input", "near", "far", "attention", "inner", "output")
        found: dict[str, Tensor] = {"position": self.position}
        for name in layers:
            layer: nn.Linear = getattr(self, name)
            found |= {name: layer.weight.T, f"{name}_bias": layer.bias}
        found["input_bias"] = self.input.bias - (self.mean / self.spread) @ self.input.weight.T
        found["input"] = self.input.weight.T / self.spread[:, None]
        return {name: each.detach().numpy().astype(np.float32) for name, each in found.items()}


def learn(examples: Sequence[PauseExample], seed: int = SEED) -> CompletenessNetwork:
    """Train a network to predict the teacher's probabilities from the encoder's states."""
    torch.manual_seed(seed)
    known = torch.zeros(len(examples), STATES, 1)
    states = torch.zeros(len(examples), STATES, examples[0].states.shape[1], dtype=torch.float16)
    for place, one in enumerate(examples):
        states[place, STATES - len(one.states) :] = torch.from_numpy(one.states)
        known[place, STATES - len(one.states) :] = 1
    of_all = states[known[:, :, 0] > 0].float()
    network = CompletenessNetwork(of_all.mean(dim=0), of_all.std(dim=0) + 1e-3)
    wanted = torch.tensor([one.complete for one in examples])
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * -(-len(examples) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in tqdm(range(EPOCHS), desc="learning", unit="epoch"):
        order = torch.randperm(len(examples))
        for begin in range(0, len(examples), BATCH):
            batch = order[begin : begin + BATCH]
            predicted = network(states[batch].float(), known[batch])
            loss = nn.functional.binary_cross_entropy_with_logits(predicted, wanted[batch])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # PyTorch's own
            optimizer.step()
            schedule.step()
    return network.eval()


def _neighbours(hidden: Tensor) -> Tensor:
    """Concatenate each position with the two before and the two after it."""
    padded = nn.functional.pad(hidden, (0, 0, NEIGHBOURS // 2, NEIGHBOURS // 2))
    return padded.unfold(1, NEIGHBOURS, 1).transpose(2, 3).flatten(2)


async def _listen(
    folders: Sequence[Path], whole: Sequence[Path], encoder: Path, decoder: Path
) -> list[PauseExample]:
    vad, teacher = SileroVad(), SmartTurn()
    vad.load()
    await teacher.start()
    models = Models(vad, EncoderDecoder(encoder, decoder), teacher)
    paths = [
        (path, folder in whole)
        for folder in (*folders, *whole)
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() == ".wav"
    ]
    random = np.random.default_rng(SEED)
    examples = []
    for path, is_whole in tqdm(paths, desc="listening", unit="recording", mininterval=10):
        examples += [one async for one in pause_examples(path, models, random, is_whole)]
    await teacher.close()
    return examples


def main() -> None:
    """Train on the folders and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    known = "a folder of recordings that end as turns do, whatever Smart Turn says of them"
    parser.add_argument("--whole", type=Path, action="append", default=[], help=known)
    arguments = parser.parse_args()
    encoder, decoder, _ = model_files(None)
    examples = asyncio.run(_listen(arguments.folders, arguments.whole, encoder, decoder))
    weights = learn(examples).weights()
    arrays: dict[str, Any] = {name: each.astype(np.float16) for name, each in weights.items()}
    with as_file(files("audio.recognizers").joinpath(WEIGHTS)) as path:
        np.savez(path, encoder=np.array(encoder_hash(encoder)), **arrays)


if __name__ == "__main__":
    main()
