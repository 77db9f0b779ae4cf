"""Skip the GPU's tests without a GPU."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def _gpus() -> int:
    if find_spec("torch") is None:
        return 0
    import torch  # noqa: PLC0415 - optional, and slow to import

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if "/gpu/" in item.path.as_posix()]
    if here and not _gpus():
        for item in here:
            item.add_marker(pytest.mark.skip(reason="no CUDA GPU, or no torch that sees one"))
