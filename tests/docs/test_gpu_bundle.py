"""The bundle for a GPU machine without a network: its parts, and its script that checks and unpacks them."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import tarfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

PART_BYTES = 10_000


@pytest.fixture(scope="module")
def gpu_bundle() -> ModuleType:
    path = Path(__file__).parents[2] / ".ci/gpu_bundle.py"
    spec = spec_from_file_location("gpu_bundle", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bundle(gpu_bundle: ModuleType, tmp_path: Path) -> Path:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name in ("one", "two"):
        (wheels / f"{name}.whl").write_bytes(random.Random(name).randbytes(25_000))
    (wheels / "note.txt").write_text("no wheel")
    source = tmp_path / "source.tar"
    with tarfile.open(source, "w") as tar:
        text = b"gpu-proof:\n"
        makefile = tarfile.TarInfo("source/Makefile")
        makefile.size = len(text)
        tar.addfile(makefile, io.BytesIO(text))
    gpu_bundle.pack(source, wheels, tmp_path / "bundle", PART_BYTES)
    return tmp_path / "bundle"


def unpack(bundle: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-S", str(bundle / "unpack.py"), str(folder))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_unpacked_bundle_holds_the_source_and_every_wheel(bundle: Path, tmp_path: Path) -> None:
    done = unpack(bundle, tmp_path / "there")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there/source/Makefile").read_text() == "gpu-proof:\n"
    for name in ("one", "two"):
        assert (tmp_path / f"there/wheels/{name}.whl").read_bytes() == random.Random(name).randbytes(25_000)
    assert sorted(path.name for path in (tmp_path / "there/wheels").iterdir()) == ["one.whl", "two.whl"]
    assert f"PIP_FIND_LINKS={tmp_path / 'there/wheels'}" in done.stdout


def test_no_part_is_larger_than_allowed(bundle: Path) -> None:
    sizes = [path.stat().st_size for path in sorted(bundle.glob("part-*"))]
    assert len(sizes) == len(json.loads((bundle / "bundle.json").read_text())["parts"]) > 5
    assert set(sizes[:-1]) == {PART_BYTES}
    assert 0 < sizes[-1] <= PART_BYTES


def test_builds_for_cpus_are_found_among_the_wheels(gpu_bundle: ModuleType, tmp_path: Path) -> None:
    names = [
        "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl",
        "torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl",
    ]
    for name in (
        *names,
        "torch-2.13.0-cp311-cp311-linux_x86_64.whl",
        "vllm_cpu_helpers-1.0-py3-none-any.whl",
    ):
        (tmp_path / name).touch()
    assert gpu_bundle.cpu_builds(tmp_path) == sorted(names)


def test_damaged_and_missing_parts_are_named_and_nothing_is_unpacked(bundle: Path, tmp_path: Path) -> None:
    damaged = bundle / "part-0001"
    content = bytearray(damaged.read_bytes())
    content[5_000] ^= 1
    damaged.write_bytes(content)
    (bundle / "part-0003").unlink()
    done = unpack(bundle, tmp_path / "there")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["part-0001 is damaged: copy it again", "part-0003 is missing"]
    assert not (tmp_path / "there").exists()
