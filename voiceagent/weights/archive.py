"""Archives of packages, read as data: nothing in them is installed or run."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

_HASH_CHUNK_BYTES = 1 << 20


class PackageError(Exception):
    """A package cannot be had, or does not hold what the table says; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A package's file on its index. digest: its hash there in hexadecimal, "" if the index states none."""

    url: str
    algorithm: str
    digest: str

    @property
    def name(self) -> str:
        """The file's name."""
        return unquote(urlsplit(self.url).path).rsplit("/", 1)[-1]


@contextmanager
def opened_member(archive: Path, path: str) -> Iterator[IO[bytes]]:
    """Open one file within a wheel or a tarball, for reading. Raises PackageError."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel, wheel.open(path) as member:
                yield member
        else:
            with tarfile.open(archive) as tarball:
                found = tarball.extractfile(path)
                if found is None:
                    raise KeyError(path)
                with found:
                    yield found
    except KeyError:
        raise PackageError(f"{archive.name} has no {path}") from None
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise PackageError(f"{archive.name} is damaged: {error}") from error


def hash_of(path: Path, algorithm: str) -> str:
    """Return a file's hash in hexadecimal."""
    found = hashlib.new(algorithm)
    with path.open("rb") as file:
        while chunk := file.read(_HASH_CHUNK_BYTES):
            found.update(chunk)
    return found.hexdigest()
