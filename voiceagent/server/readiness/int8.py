"""The arithmetic that CTranslate2 uses for int8 on this machine's processor.

It takes Intel's MKL on Intel's processors and oneDNN on others (`CT2_USE_MKL` decides otherwise). oneDNN adds
products of 8 bits in 16 bits where the processor has no VNNI, and these sums saturate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

VNNI = frozenset(("avx512_vnni", "avx_vnni"))
"""Flags of Linux for instructions that add products of 8 bits in 32 bits."""


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
