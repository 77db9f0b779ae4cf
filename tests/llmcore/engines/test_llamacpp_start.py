"""A start of llama.cpp's server, here a stand-in: a slow one is waited for, one that hangs is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmcore.engine import ServerError
from llmcore.engines import llamacpp_process
from llmcore.engines.llamacpp_process import LlamaCppProcess, ServerSettings

SLOW = """
import json, sys, time
sys.stdin.readline()
began = time.process_time()
while time.process_time() - began < 1.0:
    pass
print(json.dumps({"url": "http://127.0.0.1:1"}), flush=True)
sys.stdin.read()
"""
COMPUTES_FOR_EVER = "while True:\n    pass\n"
HANGS = "import sys\nsys.stdin.read()\n"


@pytest.fixture
def process(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> LlamaCppProcess:
    (tmp_path / "stand_in_server.py").write_text(request.param)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(llamacpp_process, "SERVER_MODULE", "stand_in_server")
    monkeypatch.setattr(llamacpp_process, "_LOOK_S", 0.3)
    monkeypatch.setattr(llamacpp_process, "_START_S", 0.6)
    return LlamaCppProcess(ServerSettings(tmp_path / "model.gguf", 1, 1, 512, 0))


@pytest.mark.parametrize("process", [SLOW], indirect=True)
async def test_a_start_that_computes_is_waited_for(process: LlamaCppProcess) -> None:
    await process.start()
    assert str(process.client.base_url).startswith("http://127.0.0.1:1")
    await process.close()


@pytest.mark.parametrize("process", [HANGS], indirect=True)
async def test_a_start_that_computes_nothing_is_given_up(process: LlamaCppProcess) -> None:
    with pytest.raises(ServerError, match="computed nothing"):
        await process.start()


@pytest.mark.parametrize("process", [COMPUTES_FOR_EVER], indirect=True)
async def test_a_start_that_computes_without_end_is_given_up(
    process: LlamaCppProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llamacpp_process, "_LONGEST_START_S", 0.9)
    with pytest.raises(ServerError, match="did not start within"):
        await process.start()
