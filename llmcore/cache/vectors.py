"""Embeddings computed once, off the event loop, and exact nearest-neighbor search over vectors.

An embedding is started during the caller's pause and ready when the turn ends. A thread owns the vectors that
are searched.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar, TypeVarTuple, Unpack

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Unit vector, so that a dot product is the cosine."""
DIMENSIONS = 384
MAX_VECTORS = 256
"""Vectors remembered; enough for the calls that pause at once."""
MAX_NEAR = 4
"""Candidates returned: few similar questions differ in their facts."""
Given = TypeVarTuple("Given")
Result = TypeVar("Result")


class EmbeddingError(Exception):
    """The model cannot be loaded or fails; the text gives the reason."""


class Embedding(Protocol):
    """A sentence embedding model. Both methods block and release the GIL."""

    def load(self) -> None:
        """Load the model. Raises EmbeddingError."""

    def embed(self, text: str) -> Vector:
        """Return the embedding of `text`, [DIMENSIONS]. Raises EmbeddingError."""
        ...


class Vectors:
    """Cache of embeddings, computed one at a time in a thread."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        self._futures: OrderedDict[str, Future[Vector]] = OrderedDict()
        self._newest: Future[Vector] | None = None

    async def start(self) -> None:
        """Load the model. Raises EmbeddingError."""
        await asyncio.wrap_future(self._pool.submit(self._embedding.load))

    def start_early(self, text: str) -> None:
        """Start to embed a text that may be asked for, unless another one is in progress."""
        if self._newest is None or self._newest.done():
            self._start(text)

    async def embed(self, text: str) -> Vector:
        """Return a text's vector. Cancelling does not stop it: others may wait. Raises EmbeddingError."""
        return await asyncio.shield(asyncio.wrap_future(self._start(text)))

    def _start(self, text: str) -> Future[Vector]:
        future = self._futures.get(text)
        if future is None:
            future = self._newest = self._futures[text] = self._pool.submit(self._embedding.embed, text)
            if len(self._futures) > MAX_VECTORS:
                self._futures.popitem(last=False)
        self._futures.move_to_end(text)
        return future

    def close(self) -> None:
        """Cancel pending work."""
        self._pool.shutdown(wait=False, cancel_futures=True)


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
