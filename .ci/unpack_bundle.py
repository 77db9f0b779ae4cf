"""Check and unpack a bundle of `make gpu-bundle`: python3 unpack.py [FOLDER]

Run it beside the parts. Needs nothing but Python. Each part is compared with its SHA-256 before it is used; a
missing or damaged one is named, and nothing else is unpacked.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, cast

HERE = Path(__file__).parent
CHUNK = 1 << 20


def damage(path: Path, expected: str) -> str:
    """Return what is wrong with a part; "" if it has the expected SHA-256."""
    if not path.is_file():
        return f"{path.name} is missing"
    sum_ = hashlib.sha256()
    with path.open("rb") as part:
        while chunk := part.read(CHUNK):
            sum_.update(chunk)
    return "" if sum_.hexdigest() == expected else f"{path.name} is damaged: copy it again"


class PartReader:
    """The parts as one readable stream."""

    def __init__(self, parts: list[Path]) -> None:
        self._chunks = self._read_all(parts)
        self._left = b""

    def read(self, size: int) -> bytes:
        """Return this many bytes; fewer at the end."""
        pieces = [self._left]
        length = len(self._left)
        while length < size and (chunk := next(self._chunks, b"")):
            pieces.append(chunk)
            length += len(chunk)
        data = b"".join(pieces)
        self._left = data[size:]
        return data[:size]

    @staticmethod
    def _read_all(parts: list[Path]) -> Iterator[bytes]:
        for path in parts:
            with path.open("rb") as part:
                while chunk := part.read(CHUNK):
                    yield chunk


def main(folder: Path) -> int:
    """Return 0 if everything is unpacked, 1 if a part is missing or damaged."""
    sums: dict[str, str] = json.loads((HERE / "bundle.json").read_text())["parts"]
    with ThreadPoolExecutor() as pool:  # hashlib lets threads run side by side
        found = [one for one in pool.map(damage, (HERE / name for name in sums), sums.values()) if one]
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    reader = PartReader([HERE / name for name in sums])
    with tarfile.open(fileobj=cast("BinaryIO", reader), mode="r|", bufsize=CHUNK) as tar:
        tar.extractall(folder, filter="data")
    with tarfile.open(folder / "source.tar") as source:
        source.extractall(folder, filter="data")
    wheels = (folder / "wheels").absolute()
    print(f"cd {folder / 'source'} && PIP_NO_INDEX=1 PIP_FIND_LINKS={wheels} make gpu-proof")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path((sys.argv[1:] or ["."])[0])))
