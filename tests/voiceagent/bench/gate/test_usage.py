from __future__ import annotations

import subprocess
import sys

from voiceagent.bench.gate.load import usage


def test_memory_of_a_child_counts_in():
    before = usage()
    code = "held = bytearray(b'x') * (64 << 20); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == b"held\n"
        within = usage()
        child.communicate(b"\n")
    assert within.memory_bytes - before.memory_bytes > 64 << 20
    assert within.cpu_s > before.cpu_s
