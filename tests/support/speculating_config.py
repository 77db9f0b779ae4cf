"""The shipped configuration for vLLM on a CPU with the speculation that it has written down, but off."""

from __future__ import annotations

import re
from pathlib import Path

from voiceagent.config.tables import Config, load

_SHIPPED = Path(__file__).parents[2] / "configs" / "vllm-cpu.toml"
_TABLE = re.compile(r"^# (?=\[llm\.speculative\]|method =|model = \"package|num_speculative_tokens)", re.M)


def speculating_text() -> str:
    """The file with the table `[llm.speculative]` put in force."""
    text, found = _TABLE.subn("", _SHIPPED.read_text())
    assert found == 4, "the table has a line for itself and three keys"
    return text


def speculating_config(folder: Path) -> Config:
    """The same, written to a file of `folder` and read."""
    path = folder / "speculating.toml"
    path.write_text(speculating_text())
    return load(path)
