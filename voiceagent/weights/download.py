"""Downloads over HTTP that continue where an earlier attempt stopped."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx2

OnBytes = Callable[[int, int], None]
"""Receives the bytes stored so far and the expected total, 0 where the server does not state one."""

_ATTEMPTS = 3
_TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
_RANGE_START = re.compile(r"bytes (\d+)-")


class DownloadError(Exception):
    """A download failed; the message says why. Received bytes are kept for the next attempt."""


def download(url: str, to: Path, on_bytes: OnBytes, client: httpx2.Client) -> None:
    """Store the file at `url` as `to`, which appears once it is complete.

    Bytes of an interrupted download lie in `to` with the suffix ".partial" and are not requested again, if
    the server has ranges (RFC 9110, section 14). A lost connection is retried. Raises DownloadError.
    """
    partial = to.with_name(f"{to.name}.partial")
    if url.startswith("file:"):
        shutil.copyfile(unquote(urlsplit(url).path), partial)
        partial.replace(to)
        return
    for attempt in range(_ATTEMPTS):
        try:
            _continue(url, partial, on_bytes, client)
            break
        except httpx2.HTTPStatusError as error:
            raise DownloadError(f"{_host(url)} answers {error.response.status_code}") from error
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise DownloadError(f"{_host(url)} cannot be reached: {error}") from error
        except (httpx2.TransportError, _Incomplete) as error:
            if attempt == _ATTEMPTS - 1:
                raise DownloadError(f"the connection to {_host(url)} was lost: {error}") from error
    partial.replace(to)


class _Incomplete(Exception):
    """The body ended before its stated length."""


def _continue(url: str, partial: Path, on_bytes: OnBytes, client: httpx2.Client) -> None:
    stored = partial.stat().st_size if partial.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={stored}-"} if stored else {})
    with client.stream("GET", url, headers=headers, timeout=_TIMEOUT) as response:
        if response.status_code == httpx2.codes.RANGE_NOT_SATISFIABLE:
            partial.unlink()
            raise _Incomplete("the stored part does not fit the file")
        response.raise_for_status()
        start = _start(response)
        if start != stored:  # the server has no ranges, or sent another one
            if start:
                partial.unlink()
                raise _Incomplete(f"bytes from {stored} on were requested, bytes from {start} on came")
            stored = 0
        length = int(response.headers.get("content-length") or 0)
        total = stored + length if length else 0
        with partial.open("ab" if stored else "wb") as file:
            for chunk in response.iter_raw():
                file.write(chunk)
                stored += len(chunk)
                on_bytes(stored, total)
    if total and stored < total:
        raise _Incomplete(f"{stored} of {total} bytes came")


def _start(response: httpx2.Response) -> int:
    """Return the index in the file of the response's first byte."""
    if response.status_code != httpx2.codes.PARTIAL_CONTENT:
        return 0
    match = _RANGE_START.match(response.headers.get("content-range", ""))
    return int(match[1]) if match else 0


def _host(url: str) -> str:
    return urlsplit(url).hostname or url
