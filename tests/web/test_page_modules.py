"""The page's modules, tested by node's own test runner: each `*.test.js` in this folder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed: the page's modules are not tested")
@pytest.mark.parametrize("tests", sorted(Path(__file__).parent.glob("*.test.js")), ids=lambda path: path.stem)
def test_page(tests: Path) -> None:
    assert NODE is not None
    ran = subprocess.run([NODE, "--test", tests], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
