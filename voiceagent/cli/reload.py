"""`voiceagent serve --reload`: restarts the server when a file next to its configuration changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

POLL_S = 0.3
"""Polling interval of files."""
SUFFIXES = (".py", ".toml", ".md", ".txt")
IGNORED_FOLDERS = ("__pycache__", "node_modules", "site-packages")
STOP_S = 10.0
"""Maximum time for a server to end its calls."""


def serve_with_reload(config: Path) -> None:
    """Serve with this command's arguments in a child process, replaced at every change, until SIGINT or
    SIGTERM.

    A server that exits, because of a mistake in a file, is restarted at the next change. SIGHUP is passed on
    to the server, which exits once its calls are over; it stays ignored if it was, as with nohup.
    """
    program = "import sys; from voiceagent.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, *(word for word in sys.argv[1:] if word != "--reload")]
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background process ignores the first
        signal.signal(number, signal.default_int_handler)
    hangups: list[int] = []
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, _: hangups.append(number))
    server, seen = subprocess.Popen(command), modification_times(config.parent)
    try:
        while not hangups:
            time.sleep(POLL_S)
            if (now := modification_times(config.parent)) != seen:
                seen = now
                print("voiceagent: a file changed; starting again", file=sys.stderr)
                _stop(server)
                server = subprocess.Popen(command)
        server.send_signal(signal.SIGHUP)  # a closing terminal sends it one too, which does no harm
        server.wait()
    except KeyboardInterrupt:
        _stop(server)


def modification_times(folder: Path) -> dict[Path, float]:
    """Return the modification times of files below a folder, except hidden ones and `IGNORED_FOLDERS`."""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in IGNORED_FOLDERS]
        for path in (Path(place) / name for name in files if name.endswith(SUFFIXES)):
            with suppress(FileNotFoundError):  # an editor replaces files
                found[path] = path.stat().st_mtime
    return found


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End a server and its calls: the second signal does not wait for calls."""
    for number in (signal.SIGTERM, signal.SIGTERM):
        if server.poll() is None:
            server.send_signal(number)
            time.sleep(POLL_S)
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
