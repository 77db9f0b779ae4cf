"""Pack the source and the wheels of gpu-proof for a machine without a network: `make gpu-bundle`.

python .ci/gpu_bundle.py WHEELS BUNDLE [--part-mb 60]

BUNDLE gets parts of one tar stream, of at most that size; bundle.json with their SHA-256; and unpack.py,
which needs nothing but Python. The stream is not compressed: wheels are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast
from urllib.parse import unquote

ROOT = Path(__file__).parents[1]
MB = 1_000_000


class PartWriter:
    """A writable stream that is cut into files of equal size. sums: SHA-256 of each part, by its name."""

    def __init__(self, folder: Path, part_bytes: int) -> None:
        self._folder = folder
        self._part_bytes = part_bytes
        self._file: BinaryIO | None = None
        self._room = 0
        self._sum = hashlib.sha256()
        self.sums: dict[str, str] = {}

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_part()

    def write(self, data: bytes) -> int:
        """Write all of the data, to as many parts as it needs."""
        left = memoryview(data)
        while left:
            if not self._room:
                self._begin_part()
            assert self._file is not None
            piece, left = left[: self._room], left[self._room :]
            self._file.write(piece)
            self._sum.update(piece)
            self._room -= len(piece)
        return len(data)

    def _begin_part(self) -> None:
        self._end_part()
        self._file = (self._folder / f"part-{len(self.sums):04}").open("wb")
        self._sum, self._room = hashlib.sha256(), self._part_bytes

    def _end_part(self) -> None:
        if self._file is not None:
            self._file.close()
            self.sums[Path(self._file.name).name] = self._sum.hexdigest()
            self._file = None


def pack(source: Path, wheels: Path, bundle: Path, part_bytes: int) -> None:
    """Write a bundle. source: a tar file of the repository, unpacked to "source"."""
    shutil.rmtree(bundle, ignore_errors=True)
    bundle.mkdir(parents=True)
    with (
        PartWriter(bundle, part_bytes) as parts,
        tarfile.open(fileobj=cast("BinaryIO", parts), mode="w|") as tar,
    ):
        tar.add(source, "source.tar")
        for wheel in sorted(wheels.glob("*.whl")):
            tar.add(wheel, f"wheels/{wheel.name}")
    (bundle / "bundle.json").write_text(json.dumps({"parts": parts.sums}, indent=1))
    shutil.copy(Path(__file__).with_name("unpack_bundle.py"), bundle / "unpack.py")


def cpu_builds(wheels: Path) -> list[str]:
    """Return the wheels that are builds for CPUs. pip prefers them where an index has both: "2.13.0+cpu"
    meets "==2.13.0", and counts as newer.
    """
    return [wheel.name for wheel in sorted(wheels.glob("*.whl")) if "+cpu" in unquote(wheel.name)]


def main() -> None:
    """Pack the commit that is checked out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--part-mb", type=float, default=60)
    given = parser.parse_args()
    if not any(given.wheels.glob("*.whl")):
        parser.error(f"{given.wheels}: holds no wheels; allowed: a folder that `make gpu-wheels` filled")
    if builds := cpu_builds(given.wheels):
        message = "is for CPUs; allowed: the CUDA build, from an index without CPU builds"
        parser.error(f"{given.wheels}: {', '.join(builds)} {message}")
    source = given.wheels / "source.tar"
    subprocess.run(
        ["git", "archive", "--prefix=source/", "-o", source.absolute(), "HEAD"], cwd=ROOT, check=True
    )
    pack(source, given.wheels, given.bundle, int(given.part_mb * MB))
    parts = sorted(given.bundle.glob("part-*"))
    total_mb = sum(part.stat().st_size for part in parts) / MB
    print(f"{given.bundle}: {len(parts)} parts, {total_mb:.0f} MB; on the other machine: python3 unpack.py")


if __name__ == "__main__":
    main()
