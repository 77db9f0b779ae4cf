"""A server of files and of a Python package index, and made-up wheels for it."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO


def wheel(name: str, version: str, files: dict[str, bytes]) -> tuple[str, bytes]:
    """The file name and the bytes of a wheel with these files."""
    module = name.replace("-", "_")
    about = f"{module}-{version}.dist-info"
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return f"{module}-{version}-py3-none-any.whl", out.getvalue()


@dataclass
class FileServer:
    """Serves `files` by path. requests: each as (path, its Range header).

    types: path to the Content-Type, where that is not HTML below /simple. stops: path to the number of bytes
    after which the connection is closed, once. ranges: honour them.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    stops: dict[str, int] = field(default_factory=dict)
    ranges: bool = True
    url: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)

    def add_wheel(self, name: str, version: str, files: dict[str, bytes]) -> None:
        """Publish a wheel in the index at `/simple`."""
        file_name, content = wheel(name, version, files)
        self.files[f"/wheels/{file_name}"] = content
        digest = hashlib.sha256(content).hexdigest()
        page = f'<!DOCTYPE html><a href="/wheels/{file_name}#sha256={digest}">{file_name}</a>'
        self.files[f"/simple/{name}/"] = page.encode()

    def requested(self, path: str) -> list[str]:
        """The Range headers of all requests for a path."""
        return [span for asked, span in self.requests if asked == path]


@contextmanager
def serving(server: FileServer) -> Iterator[FileServer]:
    """Serve on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            span = self.headers.get("Range", "")
            server.requests.append((self.path, span))
            content = server.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            begin = int(span.removeprefix("bytes=").rstrip("-")) if span and server.ranges else 0
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            kind = "text/html" if self.path.endswith("/") else "application/octet-stream"
            self.send_header("Content-Type", server.types.get(self.path, kind))
            self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            stop = server.stops.pop(self.path, None)
            self.wfile.write(content[begin:stop])
            if stop is not None:
                self.close_connection = True

        def log_message(self, format: str, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
