"""How many threads the libraries of a process may start: as many as its configuration says.

BLAS and OpenMP read the environment as they are loaded, and take a thread a core where it says nothing. They
wait for each other by spinning: a product of the size of a voice model then costs twice the processor's time.
onnxruntime, CTranslate2 and vLLM are told by the engines that use them. Nothing here imports numpy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_BLAS = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Variables for the threads of numpy's products, which are all small: always one."""
_OPENMP = "OMP_NUM_THREADS"
_OVERRULING = ("MKL_NUM_THREADS", "MKL_DOMAIN_NUM_THREADS", "OMP_THREAD_LIMIT")
"""Variables that overrule the number of threads: without them MKL follows OpenMP."""


def with_threads(environment: Mapping[str, str], threads: int = 1) -> dict[str, str]:
    """An environment in which BLAS takes one thread and OpenMP `threads`, whatever it said before."""
    kept = {name: value for name, value in environment.items() if name not in _OVERRULING}
    return kept | dict.fromkeys(_BLAS, "1") | {_OPENMP: str(threads)}


def hold_threads() -> None:
    """Hold the libraries that this process will import to one thread, and those of its children."""
    held = with_threads(os.environ)
    os.environ.update(held)
    for name in _OVERRULING:
        os.environ.pop(name, None)
