"""`voiceagent new`: what it writes works, and it overwrites nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from voiceagent.cli.new_agent import new_agent
from voiceagent.config.tables import load
from voiceagent.validation.errors import CommandFailed


def test_the_test_that_is_written_passes(tmp_path: Path) -> None:
    _, _, test = new_agent("my_agent", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test.name]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert "2 passed" in run.stdout, run.stdout


def test_the_configuration_that_is_written_names_the_agent(tmp_path: Path) -> None:
    _, config, _ = new_agent("my_agent", tmp_path)
    assert load(config).agent.python == "my_agent:MyAgent"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "test_my_agent.py").write_text("mine")
    with pytest.raises(CommandFailed, match=r"test_my_agent\.py: exists already; nothing was written"):
        new_agent("my_agent", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["test_my_agent.py"]


def test_a_package_of_that_name_would_be_imported_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "my_agent").mkdir()
    (tmp_path / "my_agent" / "__init__.py").touch()
    with pytest.raises(CommandFailed, match=r"my_agent/__init__\.py: exists already; nothing was written"):
        new_agent("my_agent", tmp_path)


@pytest.mark.parametrize("name", ["my agent", "", "_", "1a", "My", "../x", "naïve"])
def test_a_name_that_is_no_module_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandFailed, match="allowed: a name of a Python module"):
        new_agent(name, tmp_path)


@pytest.mark.parametrize(
    "name", ["class", "json", "numpy", "voiceagent", "llmcore", "tool_failed", "test_call"]
)
def test_a_name_that_means_something_else_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandFailed, match="is taken by Python or by this package"):
        new_agent(name, tmp_path)
    assert not list(tmp_path.iterdir())
