"""Low-rank corrections of a network's matrices.

Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2021). Added to the matrices when a model is
loaded, they cost nothing afterwards.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_HALVES = ("down", "up")


@dataclass(frozen=True, slots=True)
class Correction:
    """A change of a matrix [in, out]: `down` [in, rank] times `up` [rank, out]."""

    down: Floats
    up: Floats

    @property
    def product(self) -> Floats:
        """The full matrix, [in, out]."""
        product: Floats = self.down @ self.up
        return product


def write_corrections(path: Path, corrections: Mapping[str, Correction]) -> None:
    """Write corrections in 16 bits, keyed by the places of their matrices. Raises OSError."""
    halves = ((place, half, getattr(each, half)) for place, each in corrections.items() for half in _HALVES)
    with path.open("wb") as file:
        np.savez(file, **{f"{place}.{half}": numbers.astype(np.float16) for place, half, numbers in halves})


def read_corrections(path: Path) -> dict[str, Correction]:
    """Return what `write_corrections` wrote. Raises OSError, or ValueError if the file is something else."""
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("it is no file of corrections")
        with np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name].astype(np.float32) for name in arrays.files}
    places = sorted({name.rpartition(".")[0] for name in found})
    if not places or sorted(found) != sorted(f"{place}.{half}" for place in places for half in _HALVES):
        raise ValueError("it is no file of corrections")
    return {place: Correction(*(found[f"{place}.{half}"] for half in _HALVES)) for place in places}
