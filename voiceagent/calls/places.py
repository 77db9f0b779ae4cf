"""Final location of calls' files: a folder, or any URL that fsspec supports."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import fsspec  # type: ignore[import-untyped]  # it has no type hints
import zstandard

from voiceagent.calls.kept_call import LOG_NAME, RECORDING_NAME
from voiceagent.calls.log.event_log import LogError

PIECE_BYTES = 1 << 18
"""Bytes of a recording read at a time."""


class PlaceError(Exception):
    """The files cannot be reached now. The text says why."""


def check_url(url: str) -> None:
    """Raise PlaceError if fsspec does not support the URL, or a package for it is missing."""
    try:
        fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise PlaceError(f"{url!r}: {error}") from error


def move_away(folder: Path, url: str) -> str:
    """Move a call's files from its folder to a place below `url`. Return that place. Raises PlaceError."""
    place = f"{url.rstrip('/')}/{folder.parent.name}/{folder.name}"
    try:
        files, path = fsspec.core.url_to_fs(place)
        files.makedirs(path, exist_ok=True)
        for file in sorted(folder.iterdir()):
            files.put_file(str(file), f"{path}/{file.name}")
    except Exception as error:  # backends raise exceptions of any type
        raise PlaceError(f"{place}: {error}") from error
    shutil.rmtree(folder)
    return place


def names_at(place: str) -> list[str]:
    """Return the names of a call's files. Raises PlaceError."""
    try:
        files, path = fsspec.core.url_to_fs(place)
        return sorted(Path(name).name for name in files.ls(path, detail=False))
    except Exception as error:  # as above
        raise PlaceError(f"{place}: {error}") from error


def recording_of(names: Iterable[str]) -> str | None:
    """Return the name of the recording among a call's files."""
    return next((name for name in names if name.startswith(RECORDING_NAME)), None)


def read_at(place: str, name: str, begin: int | None = None, end: int | None = None) -> bytes:
    """Return a file, or its bytes from `begin` to `end` (exclusive). Raises PlaceError."""
    try:
        files, path = fsspec.core.url_to_fs(place)
        data: bytes = files.cat_file(f"{path}/{name}", start=begin, end=end)
    except Exception as error:  # as above
        raise PlaceError(f"{place}/{name}: {error}") from error
    return data


def pieces_at(place: str, name: str) -> Iterator[bytes]:
    """Yield a file in pieces, up to its size at the start. Raises PlaceError."""
    size = sizes_at(place).get(name, 0)
    for begin in range(0, size, PIECE_BYTES):
        yield read_at(place, name, begin, min(size, begin + PIECE_BYTES))


def sizes_at(place: str) -> dict[str, int]:
    """Return the sizes of the files in bytes by name. Raises PlaceError."""
    try:
        files, path = fsspec.core.url_to_fs(place)
        return {Path(entry["name"]).name: entry["size"] or 0 for entry in files.ls(path, detail=True)}
    except Exception as error:  # as above
        raise PlaceError(f"{place}: {error}") from error


def size_at(place: str) -> int:
    """Return the total size of the files in bytes. Raises PlaceError."""
    return sum(sizes_at(place).values())


def remove_at(place: str) -> None:
    """Delete the files; missing files are no error, and empty folders of a day remain. Raises PlaceError."""
    try:
        files, path = fsspec.core.url_to_fs(place)
        if files.exists(path):
            files.rm(path, recursive=True)
    except Exception as error:  # as above
        raise PlaceError(f"{place}: {error}") from error


def read_log_at(place: str) -> bytes:
    """Return the lines of a call's log, also of a running call. Raises LogError, PlaceError."""
    names = names_at(place)
    if LOG_NAME + ".zst" in names:
        try:
            return zstandard.decompress(read_at(place, LOG_NAME + ".zst"))
        except zstandard.ZstdError as error:
            raise LogError(f"{place}: the log is damaged: {error}") from error
    if LOG_NAME in names:
        return read_at(place, LOG_NAME)
    raise LogError(f"{place}: there is no log")
