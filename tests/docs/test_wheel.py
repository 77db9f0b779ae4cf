"""The wheel, installed outside the repository, next to other packages with the names of our folders."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from readmes import PATIENCE_S, ROOT, RUN, prepared, snippet, snippet_with
from served import served

pytestmark = pytest.mark.timeout(3 * PATIENCE_S)  # three commands, where the wheel is made

FOLDERS = ("audio", "llmcore")
"""They are packages of their own in the repository only."""
CONFIG = """
[agent]
instructions = "Be brief."
[recognizer]
engine = "my_engines:Ears"
[llm]
engine = "my_engines:Brain"
[synthesizer]
engine = "my_engines:Tones"
"""


def done(*words: str | Path, cwd: Path, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    ran = subprocess.run(
        words, cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, what it needs from this one, and strangers' packages."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # setuptools writes beside its source
    for name in ("voiceagent", *FOLDERS, "configs", "web", ".ci"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip"]
    # by way of the archive of the source, which must have all that is needed
    archive = "import sys; sys.path.insert(0, '.ci'); import wheel_build; wheel_build.build_sdist('..')"
    done(sys.executable, "-c", archive, cwd=source)
    [packed] = folder.glob("*.tar.gz")
    done(*pip, "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", folder, packed, cwd=folder)
    [wheel] = folder.glob("*.whl")
    environment = folder / "env"
    venv.create(environment)
    # What is named in a .pth of a .pth is not read: the repository itself is not found this way.
    (packages(environment) / "needed.pth").write_text(sysconfig.get_path("purelib"))
    for name in FOLDERS:
        (packages(environment) / name).mkdir()
        (packages(environment) / name / "__init__.py").write_text("raise ImportError('a stranger')")
    install = [*pip, "--python", environment, "install", "--no-deps", "--no-compile", "-q"]
    done(*install, "--force-reinstall", wheel, cwd=folder)
    return environment / "bin"


def packages(environment: Path) -> Path:
    return environment / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)


def named(tree: ast.Module) -> set[str]:
    """The first part of all that a module imports or names as `package.module`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names.add(str(node.module))
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"[a-z_]\w*(\.\w+)+(:\w+)?", str(node.value)):
            names.add(str(node.value))
    return {name.partition(".")[0] for name in names}


def test_its_packages_and_configurations_are_those_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    script = "import voiceagent; print(voiceagent.__file__)"
    [file] = done(installed / "python", "-c", script, cwd=tmp_path).split()
    assert Path(file).is_relative_to(installed.parent)
    shipped = {path.name for path in (installed.parent / "share/voiceagent/configs").glob("*.toml")}
    assert {path.name for path in (ROOT / "configs").glob("*.toml")} == shipped
    for folder in ("deploy", "prometheus"):
        there = {path.name for path in (installed.parent / "share/voiceagent/configs" / folder).iterdir()}
        assert {path.name for path in (ROOT / "configs" / folder).iterdir()} == there


def test_it_has_one_package_and_no_module_names_what_it_was_called_before(installed: Path) -> None:
    [told] = packages(installed.parent).glob("voiceagent_server-*.dist-info")
    assert (told / "top_level.txt").read_text().split() == ["voiceagent"]
    paths = list((packages(installed.parent) / "voiceagent").rglob("*.py"))
    modules = {path: ast.parse(path.read_text()) for path in paths}
    assert {path for path, tree in modules.items() if named(tree) & set(FOLDERS)} == set()
    for name in FOLDERS:
        carried = packages(installed.parent) / f"voiceagent/_{name}"
        here = {path.relative_to(ROOT / name) for path in (ROOT / name).rglob("*.py")}
        assert {path.relative_to(carried) for path in carried.rglob("*.py")} == here


@pytest.mark.parametrize(
    "command", [command for command in RUN if not re.match(r"voiceagent config \w", command)]
)
def test_a_command_of_the_readmes_runs_from_it(installed: Path, tmp_path: Path, command: str) -> None:
    """`config TABLE` reads no other file of the wheel than `config` does; test_readmes.py runs each table."""
    # what the wheel needs is of this environment, and so are its programs
    programs = f"{installed}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done(*prepared(command, tmp_path), cwd=tmp_path, PATH=programs)


def test_the_agent_that_new_writes_passes_its_test(installed: Path, tmp_path: Path) -> None:
    done(installed / "voiceagent", "new", "my_agent", cwd=tmp_path)
    assert "2 passed" in done(installed / "python", "-m", "pytest", "-p", "no:cacheprovider", cwd=tmp_path)


async def test_a_tool_of_the_new_agent_runs_in_calls_without_a_key(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    done(installed / "voiceagent", "new", "my_agent", cwd=tmp_path)
    config, agent = tmp_path / "my_agent.toml", tmp_path / "my_agent.py"
    before, _, rest = config.read_text().partition("# Any OpenAI-compatible")
    scripted = re.sub(
        r"^# (?=\[|engine|script|  \[|\])", "", rest[rest.index("# Without") :], flags=re.MULTILINE
    )
    config.write_text(before + scripted)
    written = "self.notes.append(text)"
    agent.write_text(agent.read_text().replace(written, f"{written}; print(text, file=open('notes', 'a'))"))
    async with served(config, program=installed / "voiceagent", cwd=tmp_path) as address:
        said = ["--url", f"http://{address}", "--say", "Please write down that I have to buy milk."]
        talk = [installed / "voiceagent", "talk", *said, "--over"]
        both = [asyncio.to_thread(done, *talk, over, cwd=tmp_path) for over in ("realtime", "twilio")]
        assert all("answered:" in told for told in await asyncio.gather(*both))
    assert (tmp_path / "notes").read_text().split("\n") == ["buy milk", "buy milk", ""]


async def test_its_demo_is_served_and_answers(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    done(installed / "voiceagent", "init", cwd=tmp_path)
    async with served(tmp_path / "voiceagent.toml", program=installed / "voiceagent") as address:
        said = ["--url", f"http://{address}", "--text", "When is breakfast?"]
        talked = await asyncio.to_thread(done, installed / "voiceagent", "talk", *said, cwd=tmp_path)
    assert "seven" in talked


async def test_engines_and_client_of_the_readmes_go_with_it(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    engines = [snippet(begin) for begin in ("import numpy", "class Brain", "class Tones")]
    (tmp_path / "my_engines.py").write_text("\n\n".join(engines))
    (tmp_path / "my.toml").write_text(CONFIG)
    async with served(tmp_path / "my.toml", program=installed / "voiceagent") as address:
        (tmp_path / "client.py").write_text(
            snippet_with("call.response.cancel()").replace("127.0.0.1:8080", address)
        )
        told = await asyncio.to_thread(done, installed / "python", "client.py", cwd=tmp_path)
    assert "You say: When is breakfast?" in told


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


def test_a_distribution_that_brings_a_package_called_as_ours_is_told(installed: Path, tmp_path: Path) -> None:
    stranger = tmp_path / "voiceagent-0.0.3.dist-info"
    stranger.mkdir()
    (stranger / "METADATA").write_text("Metadata-Version: 2.1\nName: voiceagent\nVersion: 0.0.3\n")
    ran = subprocess.run(
        [installed / "voiceagent", "engines"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "voiceagent 0.0.3 is another distribution" in ran.stderr
