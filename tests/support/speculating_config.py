"""The shipped configuration for vLLM on a CPU with the speculation that it has written down, but off."""

from __future__ import annotations

import re
from pathlib import Path

from voiceagent.config.tables import Config, load

_SHIPPED = Path(__file__).parents[2] / "configs" / "vllm-cpu.toml"
_TABLE = re.compile(r"^# \[llm\.speculative\](?:.*\n# )+.*$", re.M)


def speculating_text() -> str:
    """The file with the table `[llm.speculative]` put in force."""
    text, found = _TABLE.subn(lambda table: table[0].replace("\n# ", "\n")[2:], _SHIPPED.read_text())
    assert found == 1, "the table stands in the file as a comment, one line after the other"
    return text


def speculating_config(folder: Path) -> Config:
    """`speculating_text`, written to a file of `folder` and read."""
    path = folder / "speculating.toml"
    path.write_text(speculating_text())
    return load(path)
