"""One vLLM engine for the whole folder, as its start with CUDA graphs takes longer than all its tests.

Without a GPU the tests are skipped, except with VOICEAGENT_GPU_TESTS=cpu: then vLLM's CPU build stands in,
without graphs and FP8.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import Any

import pytest
import pytest_asyncio
from shipped_models import CHECKPOINT

from llmcore.engines.vllm_engine import VllmLlm

ON_CPU = os.environ.get("VOICEAGENT_GPU_TESTS") == "cpu"
SETTINGS: dict[str, Any] = {
    "max_model_len": 2048,
    "max_num_seqs": 8,
    "yielding_tokens": 256,
    **(
        {"dtype": "float32", "kv_cache_gib": 0.25, "threads": 1}
        if ON_CPU
        else {"dtype": "bfloat16", "gpu_memory_utilization": 0.2, "kv_cache_dtype": "fp8"}
    ),
}
"""Of the engine: on a GPU with CUDA graphs and a KV cache in FP8."""


def _gpus() -> int:
    if find_spec("torch") is None:
        return 0
    import torch  # noqa: PLC0415 - optional, and slow to import

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if "/gpu/" in item.path.as_posix()]
    if here and not ON_CPU and not _gpus():
        for item in here:
            item.add_marker(pytest.mark.skip(reason="no CUDA GPU, or no torch that sees one"))


@pytest.fixture(scope="session")
def device() -> str:
    """The device's name for engines other than vLLM."""
    return "cpu" if ON_CPU else "cuda"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine() -> AsyncIterator[VllmLlm]:
    """The demo's model on vLLM; its processes end with the session."""
    llm = VllmLlm(str(CHECKPOINT), **SETTINGS)
    await llm.start()
    yield llm
    await llm.close()
