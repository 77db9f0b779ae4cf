"""Thread limits of native libraries, from the configuration, and how Python's own threads take turns.

BLAS and OpenMP read the environment when they are loaded, and by default start one thread per core. Their
threads wait by spinning, so that a matrix product of a voice model's size costs twice the CPU time.
onnxruntime, CTranslate2 and vLLM are configured by the engines that use them. This module must not import
numpy.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping

_BLAS = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Thread limits of numpy's products, which are small here: always one."""
_OPENMP = "OMP_NUM_THREADS"
_OVERRULING = ("MKL_NUM_THREADS", "MKL_DOMAIN_NUM_THREADS", "OMP_THREAD_LIMIT")
"""Variables that override the limit; without them MKL follows OpenMP."""
_SWITCH_S = 0.0005
"""Time after which a thread of Python lets another run, by default 5 ms: for as long the thread of a reply
holds up the event loop, which has a frame of each call every 20 ms.
"""


def with_threads(environment: Mapping[str, str], threads: int = 1) -> dict[str, str]:
    """Return an environment with one BLAS thread and `threads` OpenMP threads, replacing other settings."""
    kept = {name: value for name, value in environment.items() if name not in _OVERRULING}
    return kept | dict.fromkeys(_BLAS, "1") | {_OPENMP: str(threads)}


def hold_threads() -> None:
    """Limit the libraries that this process and its children will import to one thread."""
    held = with_threads(os.environ)
    os.environ.update(held)
    for name in _OVERRULING:
        os.environ.pop(name, None)


def tune_interpreter() -> None:
    """Prepare Python for calls, once everything is loaded: threads take turns sooner, and garbage collections
    skip what is there, which they would otherwise scan during calls.
    """
    sys.setswitchinterval(_SWITCH_S)
    gc.collect()
    gc.freeze()
