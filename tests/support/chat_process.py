"""An OpenAI-compatible server in a process of its own, that a test can kill: PORT, seconds between words."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class ChatProcess(NamedTuple):
    """The server, and where it is."""

    process: subprocess.Popen[bytes]
    base_url: str


@contextmanager
def chat_process(word_s: str) -> Iterator[ChatProcess]:
    """Start one that answers; it is killed in the end."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    port, process = 0, None
    while process is None or process.poll() is not None:  # another program took the port first: the next one
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        process = subprocess.Popen([sys.executable, __file__, str(port), word_s], env=environment)
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
    with process:
        yield ChatProcess(process, f"http://127.0.0.1:{port}/v1")
        process.kill()


def main(port: str, word_s: str) -> None:
    """Serve until killed."""
    import uvicorn  # noqa: PLC0415 - the test's own process needs none of this
    from chat_server import chat_app  # noqa: PLC0415

    sys.path.append(str(ROOT / "tests/bench"))
    from fixed_engines import FixedLlm  # noqa: PLC0415

    app = chat_app(FixedLlm(ttft_s=0.05, word_s=float(word_s)))
    uvicorn.run(app, port=int(port), log_level="warning", lifespan="off")


if __name__ == "__main__":
    main(*sys.argv[1:])
