from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable

import pytest

from llmcore.engines.vllm_settings import SERVER_PID, VllmSettings, engine_arguments


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


def worker(server_pid: int) -> subprocess.Popen[bytes]:
    """A process that imports what vLLM's workers import."""
    name = engine_arguments(VllmSettings("m"), on_cpu=True)["worker_extension_cls"]
    module, _, extension = name.rpartition(".")
    return running(f"from {module} import {extension}", server_pid)


def engine_process(server_pid: int) -> subprocess.Popen[bytes]:
    """A process that unpickles what vLLM's engine process is sent."""
    sent = pickle.dumps(engine_arguments(VllmSettings("m"), on_cpu=True)["additional_config"])
    return running(f"import pickle; pickle.loads({sent!r})", server_pid)


def running(code: str, server_pid: int) -> subprocess.Popen[bytes]:
    code = f"import time; {code}; print(flush=True); time.sleep(600)"
    environment = os.environ | {SERVER_PID: str(server_pid)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


PROCESSES = pytest.mark.parametrize("started", [worker, engine_process])


@PROCESSES
def test_a_process_of_the_engine_ends_when_its_server_is_killed(
    started: Callable[[int], subprocess.Popen[bytes]],
) -> None:
    server = sleeper()
    with started(server.pid) as process:
        assert process.poll() is None
        server.kill()
        server.wait()
        assert process.wait() == 1


@PROCESSES
def test_one_whose_server_is_already_gone_ends_at_once(
    started: Callable[[int], subprocess.Popen[bytes]],
) -> None:
    server = sleeper()
    server.kill()
    server.wait()
    with started(server.pid) as process:
        assert process.wait() == 1


def test_a_copy_of_the_configuration_in_the_server_is_the_same() -> None:
    config = engine_arguments(VllmSettings("m"), on_cpu=True)["additional_config"]
    assert json.dumps(copy.deepcopy(config)) == json.dumps(config)
