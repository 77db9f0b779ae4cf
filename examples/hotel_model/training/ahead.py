"""Preparation of lessons in parallel processes, as a GPU trains faster than one process prepares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from examples.hotel_model.training.learner import Lesson

Made = Callable[[int, int], Iterator[Lesson]]
"""Returns the lessons of one process, given its index and the number of processes."""
_AHEAD = 8  # lessons that a process has ready, at most


class _Shares(IterableDataset[Lesson]):
    """Dataset of lessons, shared out among the processes."""

    def __init__(self, made: Made) -> None:
        self._made = made

    def __iter__(self) -> Iterator[Lesson]:
        process = get_worker_info()
        assert process is not None
        return self._made(process.id, process.num_workers)


def made_ahead(made: Made, processes: int) -> Iterator[Lesson]:
    """Yield the lessons of all processes in turn, deterministic for a number of processes; 0:
    this process prepares them.
    """
    if not processes:
        yield from made(0, 1)
        return
    yield from DataLoader(
        _Shares(made),
        batch_size=None,
        num_workers=processes,
        prefetch_factor=_AHEAD,
        collate_fn=_as_it_is,
        multiprocessing_context="fork",
    )


def _as_it_is(lesson: Any) -> Any:
    return lesson
