"""Embeddings computed once, off the event loop: started during the caller's pause, ready when the turn
ends.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Unit vector, so that a dot product is the cosine."""
DIMENSIONS = 384
MAX_VECTORS = 256
"""Vectors remembered; enough for the calls that pause at once."""


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
        """Return the vector of a text. Cancelling does not stop the work, which others may wait for. Raises
        EmbeddingError.
        """
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
