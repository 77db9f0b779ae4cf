"""Embeddings, made once and off the event loop: begun while the caller pauses, there when the turn ends."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Of length 1, so that a dot product is the cosine."""
DIMENSIONS = 384
KEPT = 256
"""Texts whose vectors are remembered: those that many calls pause after at once."""


class EmbeddingError(Exception):
    """The model cannot be loaded, or fails; the text says why."""


class Embedding(Protocol):
    """A model of what sentences mean. Both methods block, and leave the GIL to others."""

    def load(self) -> None:
        """Be ready. Raises EmbeddingError."""

    def embed(self, text: str) -> Vector:
        """The meaning of `text`, [DIMENSIONS]. Raises EmbeddingError."""
        ...


class Vectors:
    """One text after the other, in one thread."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        self._futures: OrderedDict[str, Future[Vector]] = OrderedDict()
        self._newest: Future[Vector] | None = None

    async def start(self) -> None:
        """Load the model. Raises EmbeddingError."""
        await asyncio.wrap_future(self._pool.submit(self._embedding.load))

    def begin_early(self, text: str) -> None:
        """Begin to embed a text that is not surely asked for, where nobody waits for another one."""
        if self._newest is None or self._newest.done():
            self._begin(text)

    async def of(self, text: str) -> Vector:
        """The vector of a text. Who stops waiting does not stop the work: another may wait for it too.

        Raises EmbeddingError.
        """
        return await asyncio.shield(asyncio.wrap_future(self._begin(text)))

    def _begin(self, text: str) -> Future[Vector]:
        future = self._futures.get(text)
        if future is None:
            future = self._newest = self._futures[text] = self._pool.submit(self._embedding.embed, text)
            if len(self._futures) > KEPT:
                self._futures.popitem(last=False)
        self._futures.move_to_end(text)
        return future

    def close(self) -> None:
        """Embed nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
