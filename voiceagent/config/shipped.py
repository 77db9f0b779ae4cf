"""The configurations that come with the installation: in the repository, or where its wheel has put them."""

from __future__ import annotations

import sys
from pathlib import Path

_PLACES = (Path(__file__).parents[2] / "configs", Path(sys.prefix) / "share/voiceagent/configs")


def shipped_configs() -> dict[str, Path]:
    """Their files by name, as "demo"."""
    for place in _PLACES:
        if found := sorted(place.glob("*.toml")):
            return {path.stem: path for path in found}
    return {}
