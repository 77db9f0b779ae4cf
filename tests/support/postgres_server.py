"""A real PostgreSQL on a free port, as a process of the test."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE_S = 30.0


class PostgresServer:
    """Can be stopped and started again, on the same port and with its data. It refuses to run as root."""

    def __init__(self, folder: Path) -> None:
        self._programs = _programs()
        self._folder = folder
        self._as = {"user": "postgres"} if os.getuid() == 0 else {}
        if self._as:
            shutil.chown(folder, "postgres")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "--auth=trust", "--username=test", "--no-sync", "--encoding=UTF8", "-D", folder)

    @property
    def url(self) -> str:
        return f"postgresql://test@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        options = ["-D", self._folder, "-p", str(self._port), "-k", self._folder, "-F", "-h", "127.0.0.1"]
        self._process = subprocess.Popen(
            [self._programs / "postgres", *options], stderr=subprocess.DEVNULL, cwd=self._folder, **self._as
        )
        until_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._run("pg_isready", "-h", "127.0.0.1", "-p", str(self._port))
                return
            except subprocess.CalledProcessError:
                assert self._process.poll() is None, "postgres did not start"
                assert time.monotonic() < until_s, "postgres does not answer"
                time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(subprocess.signal.SIGINT)  # its "fast" shutdown
            self._process.wait()
            self._process = None

    def _run(self, program: str, *options: str | Path) -> None:
        command = [self._programs / program, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._folder, **self._as)


def _programs() -> Path:
    """Debian keeps them out of the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        if os.getuid() == 0:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    return folders[-1]


@contextmanager
def postgres_server(started: bool = True) -> Iterator[PostgresServer]:
    with tempfile.TemporaryDirectory() as folder:  # its user may not look into those of pytest
        server = PostgresServer(Path(folder))
        try:
            if started:
                server.start()
            yield server
        finally:
            server.stop()
