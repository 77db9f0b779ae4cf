"""Addresses of wheels on the Python index that pip is configured with, by the simple repository API.

Their contents are read as data: nothing in them is installed or run.

https://packaging.python.org/en/latest/specifications/simple-repository-api/
pip's own dry run would do, but versions before 23.3 download every wheel for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import ssl
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import httpx2

_HASH_CHUNK_BYTES = 1 << 20
_SETTINGS = """
import json
from pip._internal.commands import create_command
options, _ = create_command("download").parse_args([])
names = "index_url", "extra_index_urls", "find_links", "no_index", "cert", "proxy"
print(json.dumps({name: getattr(options, name) for name in names}))
"""
"""Run with pip, whose options know environment, files and defaults; there is no public way to ask for all."""
_SYSTEMS = r"any|manylinux\w*_x86_64"
_TIMEOUT_S = 60
_ACCEPTED = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


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


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """pip's settings: indexes in order, pages or folders with wheels, a file of CA certificates, a proxy."""

    indexes: tuple[str, ...]
    find_links: tuple[str, ...]
    cert: str | None
    proxy: str | None

    def client(self) -> httpx2.Client:
        """Return a client that connects as pip would."""
        verify = ssl.create_default_context(cafile=self.cert) if self.cert else True
        return httpx2.Client(verify=verify, proxy=self.proxy or None, follow_redirects=True)


def index_settings() -> IndexSettings:
    """Ask pip. Raises PackageError."""
    # without this process's module path, and away from this folder, whose files could stand for modules
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        with tempfile.TemporaryDirectory() as elsewhere:
            result = subprocess.run(
                [sys.executable, "-c", _SETTINGS],
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=True,
                cwd=elsewhere,
                env=environment,
            )
        settings = json.loads(result.stdout)
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.splitlines() or ["no output"])[-1]
        raise PackageError(f"pip's settings cannot be read: {reason}") from error
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise PackageError(f"pip's settings cannot be read: {error}") from error
    indexes = () if settings["no_index"] else (settings["index_url"], *(settings["extra_index_urls"] or ()))
    return IndexSettings(
        indexes=tuple(filter(None, indexes)),
        find_links=tuple(settings["find_links"] or ()),
        cert=settings["cert"],
        proxy=settings["proxy"],
    )


def find_wheel(package: str, settings: IndexSettings, client: httpx2.Client) -> Archive:
    """Return the archive of "NAME==VERSION" for any system or Linux: it is only read. Raises PackageError."""
    name, _, version = package.partition("==")
    wheel = rf"{re.sub('[-_.]+', '[-_.]+', name)}-{re.escape(version)}-.*-({_SYSTEMS})\.whl"
    begin = re.compile(wheel, re.IGNORECASE)
    failures = []
    pages = [*settings.find_links, *(f"{index.rstrip('/')}/{name}/" for index in settings.indexes)]
    for page in pages:
        try:
            links = _links(page, client)
        except (OSError, ValueError, httpx2.HTTPError) as error:
            failures.append(f"{urlsplit(page).hostname or page}: {error}")
            continue
        for archive in links:
            if begin.fullmatch(archive.name):
                return archive
    reasons = "".join(f"; {failure}" for failure in failures)
    raise PackageError(f"{package} is not found by pip's settings{reasons}")


def _links(page: str, client: httpx2.Client) -> list[Archive]:
    """Return the files that a folder or a page lists; of a page that does not exist, none."""
    folder = Path(unquote(urlsplit(page).path)) if page.startswith("file:") else Path(page)
    if "://" not in page or page.startswith("file:"):
        index = folder / "index.html"
        if index.is_file():
            return _of_html(index.read_text(encoding="utf-8"), index.as_uri())
        return [Archive(path.resolve().as_uri(), "", "") for path in sorted(folder.glob("*.whl"))]
    response = client.get(page, headers={"Accept": _ACCEPTED})
    if response.status_code == httpx2.codes.NOT_FOUND:
        return []
    response.raise_for_status()
    if "json" in response.headers.get("content-type", ""):
        return [
            Archive(_with_login(urljoin(page, file["url"]), page), "sha256", file["hashes"].get("sha256", ""))
            for file in response.json()["files"]
        ]
    return _of_html(response.text, str(response.url) if not urlsplit(page).username else page)


def _of_html(text: str, page: str) -> list[Archive]:
    parser = _Anchors()
    parser.feed(text)
    archives = []
    for link in parser.links:
        url, _, fragment = urljoin(page, link).partition("#")
        algorithm, _, digest = fragment.partition("=")
        archives.append(Archive(_with_login(url, page), algorithm if digest else "", digest))
    return archives


def _with_login(url: str, page: str) -> str:
    """Return the address with the page's user and password, if both are on one host."""
    file, index = urlsplit(url), urlsplit(page)
    if index.username and not file.username and file.hostname == index.hostname:
        return urlunsplit(file._replace(netloc=index.netloc))
    return url


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links.extend(value for name, value in attrs if name == "href" and value)
