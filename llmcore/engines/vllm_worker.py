"""Import hook for vLLM's engine process and workers: ends them with the server.

A killed server cannot end its engine, and vLLM's engine process does not notice; it would hold the GPU's
memory forever. Its workers notice here, and without them the engine ends itself.
"""

from __future__ import annotations

import os
import select
import threading

from llmcore.engines.vllm_settings import SERVER_PID


class EndsWithServer:
    """Class for vLLM's `worker_extension_cls`. Importing this module makes a worker end with its server."""


def wait_for_end(pid: int) -> None:
    """Block until the process `pid`, which need not be a child, has ended; Linux only."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll()


def _end_with(pid: int) -> None:
    wait_for_end(pid)
    os._exit(1)


# the server itself imports this too when it copies the configuration
if os.environ.get(SERVER_PID, str(os.getpid())) != str(os.getpid()):
    threading.Thread(target=_end_with, args=(int(os.environ[SERVER_PID]),), daemon=True).start()
