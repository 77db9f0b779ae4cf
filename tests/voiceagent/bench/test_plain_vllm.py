from __future__ import annotations

from pathlib import Path

import pytest
from llm_load.runs import plain_command, plain_vllm

from voiceagent.config.tables import load
from voiceagent.validation.errors import CommandFailed

CONFIGS = Path(__file__).parents[3] / "configs"


def test_the_plain_server_has_the_model_and_its_memory_and_nothing_of_our_scheduling():
    command = plain_command(load(CONFIGS / "vllm-cpu.toml").llm.options, 8000)
    told = " ".join(command)
    for wanted in ("--dtype float32", "--max-model-len 4096", "--kv-cache-memory-bytes 536870912"):
        assert wanted in told
    assert "--enable-prefix-caching" in command
    assert not any("schedul" in word or "batched" in word for word in command)


def test_the_plain_server_has_the_formats_of_the_model() -> None:
    """Otherwise the figures compare two KV cache formats."""
    told = " ".join(plain_command(load(CONFIGS / "gpu.toml").llm.options, 8000))
    assert "--quantization fp8 --kv-cache-dtype fp8" in told


async def test_a_configuration_without_vllm_is_refused():
    with pytest.raises(CommandFailed, match="--plain-vllm is for the engine 'vllm'; that of"):
        async with plain_vllm(load(CONFIGS / "demo.toml")):
            pass
