"""Measure everything that needs a GPU, in one run of 20 minutes that can be stopped and resumed.

make gpu-proof [ONLY="16 calls"]
.venv/bin/python tests/bench/gpu_proof.py [--folder FOLDER] [--minutes 20] [--only PART...] [--plan]
    [--rehearse | --dry-run]

Needs an NVIDIA GPU and no network: models are made on the spot, of the shape of Llama 3.1 8B and with random
weights, or are the demo's. Each start of an engine serves many parts (gpu_parts/plan.py); the most valuable
come first. Results are kept in FOLDER, one file a part, and RESULTS-gpu.md is rewritten after each part. A
part that passed before with the same settings is not measured again; one that failed is. What vLLM and the
driver compile is kept in FOLDER too, for later starts.

--only measures these parts alone. --plan prints all with their estimated times. --rehearse goes the same way
on vLLM's CPU build with a tiny model, --dry-run without any engine: the figures of both go to FOLDER only.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_parts.plan import MINUTES, PLAN, Size, Start, estimate_s, remaining
from gpu_parts.results import DRY_RUN, PASSED, Result, passed_result, write_result, write_table

from llmcore.engines.vllm_settings import thread_environment

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "tests/bench/RESULTS-gpu.md"
OVERRUN: dict[Size, float] = {"gpu": 2.5, "cpu": 5.0, "stand-in": 1.0}
"""A start is given up after this many times its estimate: one that hangs leaves time for the others."""
LEFT_S = 30.0
"""Time below which no start is begun."""


@dataclass(frozen=True)
class Run:
    """A run. until_s: monotonic time of its end."""

    folder: Path
    size: Size
    until_s: float


def compile_caches(folder: Path) -> dict[str, str]:
    """Return the environment variables that keep compiled code in a folder: vLLM's (torch.compile and its own
    kernels), Triton's, FlashInfer's, and the driver's. Those that are set already stay.
    """
    places = {
        "VLLM_CACHE_ROOT": "vllm",
        "TRITON_CACHE_DIR": "triton",
        "FLASHINFER_WORKSPACE_BASE": "flashinfer",
        "CUDA_CACHE_PATH": "driver",
    }
    caches = {name: str(folder / "compiled" / place) for name, place in places.items()}
    return {
        name: value
        for name, value in (caches | {"CUDA_CACHE_MAXSIZE": str(4 << 30)}).items()
        if name not in os.environ
    }


def measure(run: Run, start: Start) -> Iterator[tuple[str, Result]]:
    """Measure the parts of a start in a process of its own; yield each result as it comes.

    After the time limit, or the process's end, the parts that are left have failed.
    """
    left = {part.name: part for part in start.parts}
    until_s = min(time.monotonic() + OVERRUN[run.size] * estimate_s([start]), run.until_s)
    command = [sys.executable, "tests/bench/gpu_start.py", str(run.folder), run.size, start.name, *left]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests/bench'}", "HF_HUB_OFFLINE": "1"}
    environment |= compile_caches(run.folder) | dict(start.environment)
    if run.size == "cpu":
        environment |= thread_environment(1) | {"VOICEAGENT_GPU_TESTS": "cpu"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, start_new_session=True
    )
    began_s = time.monotonic()
    try:
        for found in _reports(process, until_s):
            if "started_s" in found:
                print(f"{start.name}: started in {found['started_s']} s", flush=True)
                continue
            part, rows = left.pop(found["part"]), [(name, figures) for name, figures in found["rows"]]
            ended = found["error"] or PASSED
            yield part.name, Result(start.inputs(part, run.size), _now(), found["seconds"], ended, rows)
        timed_out = process.poll() is None and time.monotonic() >= until_s
        ended = "timed out" if timed_out else f"the engines ended with {process.wait()}"
    finally:
        if process.poll() is None or left:
            _kill_group(process)
    seconds = round(time.monotonic() - began_s, 1)
    for name, part in left.items():
        yield name, Result(start.inputs(part, run.size), _now(), seconds, ended, [])


def _reports(process: subprocess.Popen[bytes], until_s: float) -> Iterator[dict[str, Any]]:
    """Yield the lines of JSON that a process prints, until it ends or the time is over."""
    assert process.stdout is not None
    received = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, until_s - time.monotonic())):
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                process.wait(10)
                return
            *lines, received = (received + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"{"):  # libraries print too
                    yield json.loads(line)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it started."""
    with contextlib.suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def device_name() -> str:
    """Return the names of the GPUs and their driver; "" without a GPU."""
    try:
        command = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return "; ".join(printed.strip().splitlines())
    except (OSError, subprocess.CalledProcessError):
        return ""


def print_plan() -> None:
    """Print the starts and their parts in order, with their estimates."""
    for start in PLAN:
        print(f"{start.name}: start {start.estimate_s:.0f} s")
        for part in start.parts:
            print(f"    {part.name}: {part.estimate_s:.0f} s")
    print(f"all: {estimate_s(PLAN) / 60:.1f} minutes, as estimated for an H100")


def parse(names: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "build/gpu-proof")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--only", nargs="+", metavar="PART", choices=names)
    parser.add_argument("--plan", action="store_true")
    without = parser.add_mutually_exclusive_group()
    without.add_argument("--rehearse", action="store_const", const="cpu", dest="size")
    without.add_argument("--dry-run", action="store_const", const="stand-in", dest="size")
    return parser.parse_args()


def main() -> int:
    """Return 0 if all that was wanted is measured, 1 if something failed or the time was over."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the engines are ended too
    named = {part.name: (start, part) for start in PLAN for part in start.parts}
    wanted = parse(list(named))
    if wanted.plan:
        print_plan()
        return 0
    size: Size = wanted.size or "gpu"
    devices = {"gpu": device_name(), "cpu": "a CPU, with a tiny model, as a rehearsal", "stand-in": DRY_RUN}
    if not devices[size]:
        message = "no NVIDIA GPU: nvidia-smi finds none; --rehearse and --dry-run go the same way without one"
        print(message, file=sys.stderr)
        return 1
    folder: Path = wanted.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    table = RESULTS if size == "gpu" else folder / "RESULTS-gpu.md"
    options = {"gpu": "", "cpu": "--rehearse ", "stand-in": "--dry-run "}[size]
    run = Run(folder, size, time.monotonic() + wanted.minutes * 60)
    results = {
        name: passed_result(folder, name, start.inputs(part, size)) for name, (start, part) in named.items()
    }
    measured = frozenset(name for name, result in results.items() if result is not None)
    only = None if wanted.only is None else frozenset(wanted.only)
    for name in sorted(measured & (only or measured)):
        print(f"{name}: measured before")
    for start in remaining(PLAN, only, measured):
        if run.until_s - time.monotonic() < LEFT_S:
            print(f"{start.name}: no time left; the next run measures it", flush=True)
            continue
        print(f"{start.name}: {', '.join(part.name for part in start.parts)}", flush=True)
        for name, result in measure(run, start):
            results[name] = result
            write_result(folder, name, result)
            write_table(table, devices[size], options, results)
            print(f"{name}: {result.ended} after {result.seconds:.0f} s", flush=True)
    write_table(table, devices[size], options, results)
    print(table)
    ended = [results[name] for name in only or results]
    return int(any(result is None or result.ended != PASSED for result in ended))


if __name__ == "__main__":
    sys.exit(main())
