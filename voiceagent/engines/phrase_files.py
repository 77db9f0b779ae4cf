"""Sound of phrases on disk: a file each, which several processes may read and write.

A file is a SHA-256 of all that follows, a line of JSON, and 16-bit samples. Its name is the hash of its text
and voice; the text is not stored. A file that does not fit its hash is ignored and removed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
import structlog

from audio.synthesizers import Speech, WordTiming

log = structlog.get_logger()

_SUFFIX = ".phrase"
_HASH_BYTES = 32


class PhraseFiles:
    """Phrases in a folder, at most `limit` bytes; the least recently used go first."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._broken = False

    def has(self, key: str) -> bool:
        """Return whether there is a file for this key. One `stat`: a miss needs no thread."""
        return (self._folder / f"{key}{_SUFFIX}").exists()

    def read(self, key: str, rate_hz: int) -> Speech | None:
        """Return a phrase at this rate, None where there is none."""
        path = self._folder / f"{key}{_SUFFIX}"
        try:
            content = path.read_bytes()
        except OSError:
            return None
        phrase = _parsed(content, rate_hz)
        with suppress(OSError):  # another process may have removed it
            if phrase is None:
                path.unlink()
            else:
                os.utime(path)
        return phrase

    def write(self, key: str, rate_hz: int, phrase: Speech) -> None:
        """Store a phrase. Where the folder cannot be written, that is logged once."""
        words = [[word.character, word.at_samples] for word in phrase.words]
        head = json.dumps({"rate_hz": rate_hz, "words": words}).encode()
        body = head + b"\n" + phrase.samples.astype("<i2").tobytes()
        content = sha256(body).digest() + body
        if len(content) > self._limit:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._store(self._folder / f"{key}{_SUFFIX}", content)
            self._make_room()
        except OSError as error:
            if not self._broken:
                log.warning("phrase_cache_write_failed", folder=str(self._folder), reason=str(error))
            self._broken = True

    def _store(self, path: Path, content: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:  # for this user only
            try:
                file.write(content)
                file.flush()
                Path(file.name).replace(path)
            except OSError:
                Path(file.name).unlink()
                raise

    def _make_room(self) -> None:
        """Remove the least recently used files beyond the limit."""
        found = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._limit:
                return
            path.unlink(missing_ok=True)
            total -= size


def phrases_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of stored phrases, in the user's cache."""
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "voiceagent" / "phrases"


def _parsed(content: bytes, rate_hz: int) -> Speech | None:
    digest, body = content[:_HASH_BYTES], content[_HASH_BYTES:]
    if sha256(body).digest() != digest:
        return None
    head, _, pcm = body.partition(b"\n")
    try:
        header = json.loads(head)
        if header["rate_hz"] != rate_hz:
            return None
        words = tuple(WordTiming(character, at_samples) for character, at_samples in header["words"])
        return Speech(np.frombuffer(pcm, "<i2").astype(np.int16), words)
    except (ValueError, KeyError, TypeError):
        return None
