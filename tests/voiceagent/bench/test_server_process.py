from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

MEASURING = """
import asyncio, signal, sys
from voiceagent.bench.server_process import served

SERVER = "import time; print('http://127.0.0.1:1', flush=True); time.sleep(600)"

async def measure():
    async with served([sys.executable, "-c", SERVER], None) as server:
        print(server.process.pid, flush=True)
        await asyncio.sleep(600)

signal.signal(signal.SIGINT, signal.default_int_handler)  # as where a terminal starts it
asyncio.run(measure())
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_does_not_outlive_the_process_that_measures_it(how: signal.Signals) -> None:
    program = [sys.executable, "-c", MEASURING]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as measuring:
        assert measuring.stdout is not None
        server = psutil.Process(int(measuring.stdout.readline()))
        measuring.send_signal(how)
        assert measuring.wait(30) != 0
    assert not server.is_running()
