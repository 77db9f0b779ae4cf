"""CUDA libraries of CTranslate2: their names, and their loading from packages that pip installs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

import pytest

from audio.cuda_libraries import LIBRARIES, PACKAGE
from audio.recognizers.whisper import misfits

BY_THE_DRIVER = {"libcuda.so.1"}
FOR_SEVERAL_GPUS = {"libnccl.so.2"}
"""Libraries that are opened for tensor parallelism alone, which no engine here uses."""
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
OPENS = """
import ctypes
from audio.cuda_libraries import load_libraries, missing_libraries
print(missing_libraries())
load_libraries()
print(ctypes.CDLL("libcublas.so.12").version())
"""


def test_every_library_that_ctranslate2_opens_is_loaded_here() -> None:
    binaries = [Path(str(file.locate())) for file in files("ctranslate2") or [] if ".so" in file.name]
    names = {
        name.decode()
        for binary in binaries
        for name in re.findall(rb"lib(?:cu|nccl|nv)[a-zA-Z0-9_]*\.so\.\d+", binary.read_bytes())
    }
    assert "libcublas.so.12" in names or sys.platform != "linux"
    assert names - BY_THE_DRIVER - FOR_SEVERAL_GPUS <= set(LIBRARIES)


def test_the_extra_for_gpus_brings_the_package_of_these_libraries() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    assert any(requirement.startswith(PACKAGE) for requirement in extras["whisper-gpu"])


def installed(folder: Path) -> None:
    """Install a stand-in for the package: two small libraries with the names of the real ones."""
    libraries, record = folder / "nvidia/cublas/lib", folder / f"{PACKAGE.replace('-', '_')}-12.0.dist-info"
    libraries.mkdir(parents=True)
    record.mkdir()
    source = folder / "version.c"
    source.write_text("int version(void) { return 12; }")
    for name in LIBRARIES:
        command = ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", libraries / name, source]
        subprocess.run(command, check=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 12.0\n")
    (record / "RECORD").write_text("".join(f"nvidia/cublas/lib/{name},,\n" for name in LIBRARIES))


def run(path: Path) -> subprocess.CompletedProcess[str]:
    """Run OPENS in a separate process, with the packages in `path` installed."""
    command = [sys.executable, "-c", f"import sys; sys.path.append({str(path)!r}){OPENS}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="makes shared libraries with gcc")
@pytest.mark.skipif(sys.platform != "linux", reason="CTranslate2 has CUDA on Linux here")
def test_libraries_in_a_package_are_found_by_name_afterwards(tmp_path: Path) -> None:
    installed(tmp_path)
    result = run(tmp_path)
    assert result.stdout.split("\n")[:2] == ["[]", "12"], result.stderr


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audio.cuda_libraries.LIBRARIES", ("libcublas.so.0",))


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_library_is_named_with_what_brings_it() -> None:
    assert list(misfits("base.en", device="cuda")) == [
        (
            "device",
            "on a GPU it needs libcublas.so.0: pip install 'voiceagent-server[whisper-gpu]'; or take \"cpu\"",
        )
    ]


@pytest.mark.usefixtures("nothing_installed")
def test_a_cpu_needs_none_of_them() -> None:
    assert list(misfits("base.en", device="cpu")) == []
