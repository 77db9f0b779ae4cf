"""llama.cpp's process ends with its parent."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
import tiny_llama_gguf

from llmcore.engines.llamacpp_process import SERVER_MODULE

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120)]


async def test_parent_that_dies_while_the_model_loads_takes_the_process_along(
    scripted_model: Path, tmp_path: Path
) -> None:
    pytest.importorskip("xllamacpp", reason="llama.cpp is missing: pip install 'voiceagent-server[llamacpp]'")
    settings = {
        "model": str(tiny_llama_gguf.build(scripted_model, tmp_path / "tiny.gguf")),
        "threads": 1,
        "max_running": 1,
        "context_tokens": 128,
        "gpu_layers": 0,
        "cache_mib": 0,
        "special": False,
        "api_key": "key",
    }
    answer, answered = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", SERVER_MODULE, stdin=asyncio.subprocess.PIPE, stdout=answered
    )
    os.close(answered)
    os.close(answer)  # nobody reads the answer any more
    assert process.stdin is not None
    process.stdin.write(json.dumps(settings).encode() + b"\n")
    process.stdin.close()
    try:
        async with asyncio.timeout(60):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
