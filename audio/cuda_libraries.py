"""Loader of the CUDA libraries that CTranslate2 opens by name, from the packages that pip installs.

CTranslate2 is not linked against CUDA: it opens `libcublas.so.12` at the first product on a GPU. The dynamic
loader does not search Python packages, and vLLM's torch brings CUDA 13. But a library that the process has
already loaded is found by its name (SONAME), from whatever path it was loaded (dlopen(3)). This module
therefore loads it by path before first use.
"""

from __future__ import annotations

import ctypes
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

PACKAGE = "nvidia-cublas-cu12"
"""Distribution that contains these libraries; the extra `whisper-gpu` requires it."""
LIBRARIES = ("libcublasLt.so.12", "libcublas.so.12")
"""Libraries in loading order: the second depends on the first."""


def missing_libraries() -> list[str]:
    """Return the libraries that can neither be loaded by name nor found in the installed package."""
    return [name for name in LIBRARIES if not _opens(name) and _in_package(name) is None]


def load_libraries() -> None:
    """Load the libraries into this process, so that CTranslate2 finds them.

    Raises:
        OSError: a library is missing (the message says what to install) or cannot be loaded.
    """
    for name in LIBRARIES:
        if _opens(name):
            continue
        path = _in_package(name)
        if path is None:
            raise OSError(f"{name} is missing: pip install 'voiceagent-server[whisper-gpu]'")
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


def _opens(name: str) -> bool:
    """Return True if the loader finds the library by name: on the system, or already loaded."""
    try:
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def _in_package(name: str) -> Path | None:
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in listed if file.name == name)
    return next((path for path in paths if path.is_file()), None)
