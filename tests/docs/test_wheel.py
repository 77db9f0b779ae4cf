"""The wheel, built and installed outside of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def done(*words: str | Path, cwd: Path, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    ran = subprocess.run(words, cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=100)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, and what it needs from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # setuptools writes beside its source
    for name in ("voiceagent", "audio", "llmcore", "configs", "web"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip"]
    done(*pip, "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", folder, source, cwd=folder)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "env")
    target = folder / "env" / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    # What is named in a .pth of a .pth is not read: the repository itself is not found this way.
    (target / "needed.pth").write_text(sysconfig.get_path("purelib"))
    done(
        *pip,
        "--python",
        folder / "env",
        "install",
        "--no-deps",
        "--no-compile",
        "-q",
        "--force-reinstall",
        wheel,
        cwd=folder,
    )
    return folder / "env/bin"


def test_its_packages_and_configurations_are_those_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    script = "import audio, llmcore, voiceagent; print(audio.__file__, llmcore.__file__, voiceagent.__file__)"
    files = done(installed / "python", "-c", script, cwd=tmp_path).split()
    assert all(Path(file).is_relative_to(installed.parent) for file in files)
    shipped = {path.name for path in (installed.parent / "share/voiceagent/configs").glob("*.toml")}
    assert {path.name for path in (ROOT / "configs").glob("*.toml")} == shipped
    for folder in ("deploy", "prometheus"):
        there = {path.name for path in (installed.parent / "share/voiceagent/configs" / folder).iterdir()}
        assert {path.name for path in (ROOT / "configs" / folder).iterdir()} == there


def test_a_first_hour_works_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    program = installed / "voiceagent"
    assert "deepgram" in done(program, "engines", cwd=tmp_path)
    done(program, "init", cwd=tmp_path)
    done(program, "new", "my_agent", cwd=tmp_path)
    assert list(tmp_path.rglob("*my_agent*.py"))
    check = "import sys, pathlib, voiceagent.config.tables as tables; tables.load(pathlib.Path(sys.argv[1]))"
    for config in tmp_path.rglob("*.toml"):
        done(installed / "python", "-c", check, config, cwd=tmp_path)


def test_a_strangers_package_in_the_place_of_ours_is_told(tmp_path: Path) -> None:
    (tmp_path / "audio").mkdir()
    (tmp_path / "audio/__init__.py").touch()
    program = Path(sys.executable).with_name("voiceagent")
    path = f"{tmp_path}:{ROOT}"
    ran = subprocess.run(
        [program, "engines"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert f"another package is called audio: {tmp_path / 'audio'}" in ran.stderr
