"""Engines that write down how many threads the libraries of their process have, in the folder COUNTED_IN."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import ctranslate2  # noqa: F401  brings OpenMP
import numpy as np  # and this one BLAS
from threadpoolctl import threadpool_info

from audio.recognizers import Emit, Flush, Hypothesis
from audio.synthesizers import Speech

__all__ = ["CountingRecognizer", "CountingSynthesizer"]


def library_threads() -> dict[str, int]:
    """The most threads of each kind of library in this process."""
    pools: dict[str, int] = {}
    for pool in threadpool_info():
        pools[pool["user_api"]] = max(pool["num_threads"], pools.get(pool["user_api"], 0))
    return pools


def _write(threads: dict[str, int]) -> None:
    Path(os.environ["COUNTED_IN"], f"{os.getpid()}.threads").write_text(json.dumps(threads))


class CountingSynthesizer:
    """A synthesizer that runs in the server's own process."""

    rate_hz = 24_000

    def __init__(self, **options: Any) -> None:
        pass

    async def start(self) -> None:
        """Count."""
        _write(library_threads())

    async def close(self) -> None:
        """Nothing is held."""

    async def speak(self, text: str) -> Any:
        """Silence."""
        yield Speech(np.zeros(2_400, np.int16))


class CountingRecognizer:
    """A recognizer that runs in a process of its own, as it blocks. threads: how many OpenMP is to have
    there."""

    def __init__(self, threads: int | None = None, delay_s: float = 0.0) -> None:
        self.library_threads = library_threads()
        _write(self.library_threads)

    def open(self) -> CountingRecognizer:
        """Every utterance is the same to it."""
        return self

    def push(self, item: Any, emit: Emit) -> None:
        """Answer what is asked."""
        if isinstance(item, Flush):
            emit(Hypothesis("hello", "hello", settled=True))

    def finish(self, emit: Emit) -> None:
        """Answer for good."""
        emit(Hypothesis("hello", "hello", settled=True))

    def close(self) -> None:
        """Nothing is kept."""
