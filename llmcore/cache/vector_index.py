"""The nearest of many vectors by exact search, in a thread that owns them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple, Unpack

import numpy as np

from llmcore.cache.vectors import DIMENSIONS, Vector

MAX_NEAR = 4
"""How many alike questions are looked at: the facts of few of them differ."""
Given = TypeVarTuple("Given")
Result = TypeVar("Result")


class VectorIndex:
    """Vectors of length 1 by key, each in a space of its own: an agent's questions are not another's.

    capacity: of all spaces; beyond it the vector that was added first goes.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._spaces: dict[str, _Space] = {}
        self._order: OrderedDict[str, str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._order)

    def add(self, space: str, key: str, vector: Vector) -> list[str]:
        """Add a vector, in the place of one of the same key; the keys that had to go."""
        self.remove(key)
        gone = [next(iter(self._order))] if len(self._order) >= self._capacity else []
        for oldest in gone:
            self.remove(oldest)
        self._spaces.setdefault(space, _Space()).add(key, vector)
        self._order[key] = space
        return gone

    def remove(self, key: str) -> None:
        """Forget a vector, if it is there."""
        if (space := self._order.pop(key, None)) is not None:
            self._spaces[space].remove(key)
            if not self._spaces[space].keys:
                del self._spaces[space]

    def near(self, space: str, vector: Vector, threshold: float) -> list[tuple[str, float]]:
        """The keys and cosines of at most `MAX_NEAR` vectors, the nearest first."""
        return self._spaces[space].near(vector, threshold) if space in self._spaces else []

    def clear(self) -> list[str]:
        """Forget all; what was there."""
        keys = list(self._order)
        self._spaces.clear()
        self._order.clear()
        return keys


class _Space:
    """Rows of one matrix, which grows by doubling; the last one fills the place of one that goes."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self._places: dict[str, int] = {}
        self._rows = np.zeros((16, DIMENSIONS), np.float32)

    def add(self, key: str, vector: Vector) -> None:
        if len(self.keys) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[len(self.keys)] = vector
        self._places[key] = len(self.keys)
        self.keys.append(key)

    def remove(self, key: str) -> None:
        place, last = self._places.pop(key), self.keys.pop()
        if last != key:
            # no gap: the search is one product over all rows
            self._rows[place] = self._rows[len(self.keys)]
            self.keys[place] = last
            self._places[last] = place

    def near(self, vector: Vector, threshold: float) -> list[tuple[str, float]]:
        # Not `@`: for a product this small BLAS starts threads, and waits for them where the cores are busy.
        cosines = np.vecdot(self._rows[: len(self.keys)], vector)
        found = np.flatnonzero(cosines >= threshold)
        best = found[np.argsort(-cosines[found])[:MAX_NEAR]]
        return [(self.keys[place], float(cosines[place])) for place in best]


class IndexThread:
    """Runs what is asked of it in one thread, one after the other; numpy leaves the GIL to the event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="semantic cache")

    async def run(self, work: Callable[[Unpack[Given]], Result], *given: *Given) -> Result:
        """The result of `work(*given)`."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    def close(self) -> None:
        """Do nothing more; what was begun is finished."""
        self._pool.shutdown(wait=False)
