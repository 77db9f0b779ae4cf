"""Start the engines of one start of `gpu_proof.py` and measure parts on them.

.venv/bin/python tests/bench/gpu_start.py FOLDER SIZE START PART...

Prints one line of JSON for each part as soon as it ends: its name, rows and seconds, and the error if it
failed. A failed part does not keep the others from being measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import uvloop
from gpu_parts.demo_model import fp8_cache, offload, speculation
from gpu_parts.engines import Started, opened
from gpu_parts.loads import PartFailed, burst, calls, floor, long_prompts, streams
from gpu_parts.plan import PLAN, Part, Size
from gpu_parts.results import Rows

ROOT = Path(__file__).parents[2]


async def tests(started: Started) -> Rows:
    """Run tests/gpu, which starts an engine of its own. Raises PartFailed with pytest's summary."""
    # quieter than the project's own settings, pytest would leave out the summary
    command = (sys.executable, "-m", "pytest", "-p", "no:xdist", "tests/gpu")
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    rows = [("result", (done.stdout.strip().splitlines() or ["nothing was printed"])[-1].strip("= "))]
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise PartFailed(f"pytest ended with {done.returncode}", rows)
    return rows


MEASUREMENTS: dict[str, Callable[..., Awaitable[Rows]]] = {
    "calls": calls,
    "floor": floor,
    "streams": streams,
    "long_prompts": long_prompts,
    "burst": burst,
    "speculation": speculation,
    "fp8_cache": fp8_cache,
    "offload": offload,
    "tests": tests,
}


async def main(folder: Path, size: Size, name: str, parts: list[str]) -> None:
    """Measure the parts in the plan's order."""
    start = next(one for one in PLAN if one.name == name)
    began_s = time.monotonic()
    async with opened(start, folder, size) as started:
        print(json.dumps({"started_s": round(time.monotonic() - began_s, 1)}), flush=True)
        for part in (one for one in start.parts if one.name in parts):
            await _measure(started, part, size)


async def _measure(started: Started, part: Part, size: Size) -> None:
    began_s, rows, error = time.monotonic(), Rows(), ""
    try:
        rows = await MEASUREMENTS[part.measurement](started, **part.at(size))
    except PartFailed as failure:
        rows, error = failure.rows, str(failure)
    except Exception as failure:  # other parts are measured all the same
        error = f"{type(failure).__name__}: {failure}"
    seconds = round(time.monotonic() - began_s, 1)
    print(json.dumps({"part": part.name, "rows": rows, "seconds": seconds, "error": error}), flush=True)


if __name__ == "__main__":
    os.chdir(ROOT)
    where, what, which, *names = sys.argv[1:]
    uvloop.run(main(Path(where), cast("Size", what), which, names))
