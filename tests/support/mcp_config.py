"""A server for tests of MCP: engines of fixed cost, and an LLM that calls tools."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def mcp_config(folder: Path, allowed_url: str = "", more: str = "") -> Path:
    """Write the configuration into `folder` and return its path. more: further tables."""
    for engines in (ROOT / "tests/bench/fixed_engines.py", ROOT / "tests/e2e/tool_engine.py"):
        shutil.copy(engines, folder)
    before, after = (ROOT / "tests/bench/fixed.toml").read_text().split("[llm]")
    llm = '[llm]\nengine = "tool_engine:ToolLlm"\n\n'
    allowed = f'["{allowed_url}"]' if allowed_url else "[]"
    tables = f"[mcp]\nallowed_urls = {allowed}\n\n{more}\n"
    path = folder / "served.toml"
    path.write_text(f"{before}{llm}{tables}[synthesizer]{after.split('[synthesizer]')[1]}")
    return path
