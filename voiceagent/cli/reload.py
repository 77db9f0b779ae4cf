"""`voiceagent serve --reload`: the server starts again when a file beside its configuration changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

LOOK_S = 0.3
"""How often files are looked at."""
SUFFIXES = (".py", ".toml", ".md", ".txt")
PASSED_OVER = ("__pycache__", "node_modules", "site-packages")
STOP_S = 10.0
"""How long a server may take to end its calls."""


def serve_again(config: Path) -> None:
    """Serve with the arguments of this command, in a process that is replaced at every change, until SIGINT
    or SIGTERM. A server that ends by itself, for a mistake in a file, is started again at the next change.
    SIGHUP has the server end as it does alone, once its calls are over, unless it is ignored, as by nohup.
    """
    program = "import sys; from voiceagent.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, *(word for word in sys.argv[1:] if word != "--reload")]
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background process is born ignoring the first
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
        server.send_signal(signal.SIGHUP)  # a terminal that closes sends it one too: the second does nothing
        server.wait()
    except KeyboardInterrupt:
        _stop(server)


def changed_at(folder: Path) -> dict[Path, float]:
    """When each file in a folder and the folders in it was changed, but for hidden ones and `PASSED_OVER`."""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in PASSED_OVER]
        for path in (Path(place) / name for name in files if name.endswith(SUFFIXES)):
            with suppress(FileNotFoundError):  # an editor replaces files
                found[path] = path.stat().st_mtime
    return found


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End a server and its calls: the second signal waits for none."""
    for number in (signal.SIGTERM, signal.SIGTERM):
        if server.poll() is None:
            server.send_signal(number)
            time.sleep(LOOK_S)
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
