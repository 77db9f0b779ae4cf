"""Exact nearest-neighbor search over vectors, in a thread that owns them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple, Unpack

import numpy as np

from llmcore.cache.vectors import DIMENSIONS, Vector

MAX_NEAR = 4
"""Candidates returned: few similar questions differ in their facts."""
Given = TypeVarTuple("Given")
Result = TypeVar("Result")


class VectorIndex:
    """Unit vectors by key, in separate spaces, one for each agent.

    capacity: of all spaces together; beyond it the vector added first is dropped.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._spaces: dict[str, _Space] = {}
        self._order: OrderedDict[str, str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._order)

    def add(self, space: str, key: str, vector: Vector) -> list[str]:
        """Add a vector, replacing one with the same key. Return the keys that were evicted."""
        self.remove(key)
        gone = [next(iter(self._order))] if len(self._order) >= self._capacity else []
        for oldest in gone:
            self.remove(oldest)
        self._spaces.setdefault(space, _Space()).add(key, vector)
        self._order[key] = space
        return gone

    def remove(self, key: str) -> None:
        """Remove a vector, if present."""
        if (space := self._order.pop(key, None)) is not None:
            self._spaces[space].remove(key)
            if not self._spaces[space].keys:
                del self._spaces[space]

    def find_near(self, space: str, vector: Vector, threshold: float) -> list[tuple[str, float]]:
        """Return the keys and cosines of at most `MAX_NEAR` vectors, closest first."""
        return self._spaces[space].find_near(vector, threshold) if space in self._spaces else []

    def clear(self) -> list[str]:
        """Remove and return all keys."""
        keys = list(self._order)
        self._spaces.clear()
        self._order.clear()
        return keys


class _Space:
    """Rows of one matrix that grows by doubling. A removed row is replaced by the last one."""

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
            # no gap, as the search is one product over all rows
            self._rows[place] = self._rows[len(self.keys)]
            self.keys[place] = last
            self._places[last] = place

    def find_near(self, vector: Vector, threshold: float) -> list[tuple[str, float]]:
        # Not `@`: BLAS starts threads for a product this small, and waits for them on busy cores.
        cosines = np.vecdot(self._rows[: len(self.keys)], vector)
        found = np.flatnonzero(cosines >= threshold)
        best = found[np.argsort(-cosines[found])[:MAX_NEAR]]
        return [(self.keys[place], float(cosines[place])) for place in best]


class IndexThread:
    """A single worker thread; numpy releases the GIL to the event loop meanwhile."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="semantic cache")

    async def run(self, work: Callable[[Unpack[Given]], Result], *given: *Given) -> Result:
        """Return the result of `work(*given)`."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    def close(self) -> None:
        """Stop accepting work; running work is finished."""
        self._pool.shutdown(wait=False)
