from __future__ import annotations

import os
import subprocess
import sys

from llmcore.engines.vllm_settings import SERVER_PID, VllmSettings, engine_arguments


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


def worker(server_pid: int) -> subprocess.Popen[bytes]:
    """A process that imports what vLLM's workers import."""
    name = engine_arguments(VllmSettings("m"), on_cpu=True)["worker_extension_cls"]
    module, _, extension = name.rpartition(".")
    code = f"import time; from {module} import {extension}; print(flush=True); time.sleep(600)"
    environment = os.environ | {SERVER_PID: str(server_pid)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_worker_ends_when_its_server_is_killed() -> None:
    server = sleeper()
    with worker(server.pid) as process:
        assert process.poll() is None
        server.kill()
        server.wait()
        assert process.wait() == 1


def test_a_worker_whose_server_is_already_gone_ends_at_once() -> None:
    server = sleeper()
    server.kill()
    server.wait()
    with worker(server.pid) as process:
        assert process.wait() == 1
