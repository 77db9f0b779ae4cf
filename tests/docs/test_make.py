"""`make serve` installs what its configuration needs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(
    ("config", "extras"),
    [("german", ["whisper,piper"]), ("languages", ["whisper,piper", "languages"]), ("chat", ["llamacpp"])],
)
def test_serving_a_configuration_installs_its_extras(config: str, extras: list[str], tmp_path: Path) -> None:
    """VENV is an empty folder, so that nothing counts as installed."""
    arguments = ["make", "-n", "serve", f"CONFIG=configs/{config}.toml", f"VENV={tmp_path}"]
    planned = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [extra for extra in extras if f",{extra}]'" not in planned] == []
