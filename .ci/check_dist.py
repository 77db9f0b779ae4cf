"""Check the built distribution: `python .ci/check_dist.py DIST`, after `python -m build --outdir DIST`.

Metadata by twine. Contents of the wheel: the package and its data, no tests, examples, trainers or bytecode.
Then an empty environment outside the clone gets the wheel with its requirements, serves a configuration and
answers a typed question.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_MB = 40.0
"""Of the wheel; the demo's weights are 33 MB of it."""
FOLDERS = ("voiceagent/", "voiceagent_server-")
"""Beginnings of all names in the wheel."""
UNWANTED = re.compile(
    r"(^|/)(tests?|examples|training|train\.py|trainer\.py|__pycache__)(/|$)|\.pyc$|test_\w+\.py$"
)
NEEDED = (
    "voiceagent/py.typed",
    "voiceagent/_audio/onnx/voice_end.npz",
    "voiceagent/weights/table.toml",
    "voiceagent/demo/weights/ct2/model.bin",
    "voiceagent/calls/migrations/env.py",
    ".data/data/share/voiceagent/configs/demo.toml",
    ".data/data/share/voiceagent/configs/prometheus/",
    ".data/data/share/voiceagent/web/index.html",
    ".dist-info/licenses/LICENSE",
)
"""Ends, or parts, of names that must be there."""
SILERO = "silero-vad==6.2.3"
"""Has the model of voice activity; the wheel does not require it, as its requirements bring torch."""
START_S = 180.0


def main(folder: Path) -> int:
    """Print what is wrong and return 1, or return 0."""
    [wheel] = folder.glob("*.whl")
    [source] = folder.glob("*.tar.gz")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel, source], check=True)
    wrong = [*wrong_contents(wheel), *wrong_extras(wheel)]
    if not wrong:
        wrong = answers(wheel)
    for each in wrong:
        print(f"{wheel.name}: {each}", file=sys.stderr)
    if not wrong:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, installed, and it answers")
    return int(bool(wrong))


def wrong_contents(wheel: Path) -> list[str]:
    """Return a line for each file that must not be in the wheel or is missing, and for its size."""
    names = zipfile.ZipFile(wheel).namelist()
    wrong = [
        f"{name} does not belong there"
        for name in names
        if not name.startswith(FOLDERS) or UNWANTED.search(name)
    ]
    wrong += [f"no {part}" for part in NEEDED if not any(part in name for name in names)]
    if (size_mb := wheel.stat().st_size / 1e6) > MAX_MB:
        wrong.append(f"{size_mb:.1f} MB; allowed: {MAX_MB:.0f}")
    return wrong


def wrong_extras(wheel: Path) -> list[str]:
    """Return a line for each extra that only one of wheel and project has, or that only the code names."""
    archive = zipfile.ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    offered = set(HeaderParser().parsestr(archive.read(metadata).decode()).get_all("Provides-Extra") or ())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wrong = [
        f"extra {name}: in one of wheel and pyproject.toml"
        for name in offered ^ set(project["optional-dependencies"])
    ]
    for name in filter(lambda name: name.endswith((".py", ".toml")), archive.namelist()):
        for extras in re.findall(rf"{project['name']}\[([\w,-]+)\]", archive.read(name).decode()):
            wrong += [
                f"{name} names the extra {each}, which there is not"
                for each in set(extras.split(",")) - offered
            ]
    return wrong


def answers(wheel: Path) -> list[str]:
    """Install the wheel into an empty environment, serve, and ask; return what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "env"), with_pip=True)
        programs = Path(folder, "env/bin")
        pip = [
            programs / "python",
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--quiet",
            "install",
            "--no-compile",
        ]
        subprocess.run([*pip, "--constraint", ROOT / ".ci/constraints.txt", wheel], check=True, cwd=folder)
        subprocess.run([*pip, "--no-deps", SILERO], check=True, cwd=folder)
        for name in ("fixed_engines.py", "fixed.toml"):
            Path(folder, name).write_text((ROOT / "tests/bench" / name).read_text())
        return answer_in(Path(folder), programs)


def answer_in(folder: Path, programs: Path) -> list[str]:
    """Serve `fixed.toml` in the folder by the programs of an environment, and ask by `voiceagent talk`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [programs / "voiceagent", "serve", "--config", "fixed.toml", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=clean, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            told = server.stdout.readline()
            found = re.search(r"http://\S+", told)
            if found is None:
                return [f"the server did not start: {told}"]
            talk = [programs / "voiceagent", "talk", "--url", found[0], "--text", "When is breakfast?"]
            ran = subprocess.run(
                talk, cwd=folder, env=clean, capture_output=True, text=True, timeout=START_S, check=False
            )
            return [] if ran.returncode == 0 and ran.stdout.strip() else [f"talk: {ran.stdout}{ran.stderr}"]
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
