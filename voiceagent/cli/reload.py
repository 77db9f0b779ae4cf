"""`voiceagent serve --reload`: restarts the server when a file next to its configuration changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

LOOK_S = 0.3
"""Polling interval of files."""
SUFFIXES = (".py", ".toml", ".md", ".txt")
PASSED_OVER = ("__pycache__", "node_modules", "site-packages")
STOP_S = 10.0
"""Maximum time for a server to end its calls."""


def serve_again(config: Path) -> None:
    """Serve with this command's arguments in a child process, replaced at every change, until SIGINT or
    SIGTERM.

    A server that exits, because of a mistake in a file, is restarted at the next change. SIGHUP is passed on
    to the server, which exits once its calls are over; it stays ignored if it was, as with nohup.
    """
    program = "import sys; from voiceagent.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, *(word for word in sys.argv[1:] if word != "--reload")]
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background process ignores the first
        signal.signal(number, signal.default_int_handler)
    hung_up: list[int] = []
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, _: hung_up.append(number))
    server, seen = subprocess.Popen(command), changed_at(config.parent)
    try:
        while not hung_up:
            time.sleep(LOOK_S)
            if (now := changed_at(config.parent)) != seen:
                seen = now
                print("voiceagent: a file changed; starting again", file=sys.stderr)
                _stop(server)
                server = subprocess.Popen(command)
        server.send_signal(signal.SIGHUP)  # a closing terminal sends it one too, which does no harm
        server.wait()
    except KeyboardInterrupt:
        _stop(server)


def changed_at(folder: Path) -> dict[Path, float]:
    """Return the modification times of files below a folder, except hidden ones and `PASSED_OVER`."""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in PASSED_OVER]
        for path in (Path(place) / name for name in files if name.endswith(SUFFIXES)):
            with suppress(FileNotFoundError):  # an editor replaces files
                found[path] = path.stat().st_mtime
    return found


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End a server and its calls: the second signal does not wait for calls."""
    for number in (signal.SIGTERM, signal.SIGTERM):
        if server.poll() is None:
            server.send_signal(number)
            time.sleep(LOOK_S)
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
