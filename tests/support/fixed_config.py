"""A configuration with engines of fixed cost."""

from __future__ import annotations

import shutil
from pathlib import Path

FIXED = Path(__file__).parents[1] / "bench"


def write_config(folder: Path, lines: str = "", **engines: str) -> Path:
    """Write it into a folder, with its engines; `lines` go into the `[server]` table.

    engines: `module:Class` of others, by the class that they take the place of.
    """
    shutil.copy(FIXED / "fixed_engines.py", folder / "served_engines.py")
    text = (FIXED / "fixed.toml").read_text().replace("fixed_engines:", "served_engines:")
    for fixed, other in engines.items():
        text = text.replace(f"served_engines:{fixed}", other)
    path = folder / "served.toml"
    path.write_text(f"[server]\nport = 0\n{lines}\n[agent]{text.partition('[agent]')[2]}")
    return path
