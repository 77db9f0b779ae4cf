"""Fuzz a server for long, while a second caller's answers must stay unaffected.

python tests/attacks/fuzz.py --messages 1000000 --seed 1
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from attacked_server import attacked_server, free_port, second_caller
from fuzzing import fuzz


async def main(messages: int, seed: int) -> int:
    """Send so many messages and print what came of it; 1 where the log has a traceback."""
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        async with attacked_server(Path(folder), free_port()) as server:
            before_mb = server.memory_mb()
            async with second_caller(server) as caller:
                counts = await fuzz(server, messages, seed)
            logged, after_mb = server.logged(), server.memory_mb()
    print(f"{counts.total()} messages in {time.monotonic() - began_s:.0f} s: {dict(counts)}")
    print(f"second caller: {len(caller.events)} answers of {caller.events[0]} events each")
    print(f"memory: {before_mb:.0f} MB before, {after_mb:.0f} after; log: {len(logged)} bytes")
    tracebacks = re.findall(r"Traceback \(most recent call last\).*?\n(?=20\d\d-|\Z)", logged, re.DOTALL)
    print(f"tracebacks: {len(tracebacks)}")
    for text in {text.rstrip().rpartition("\n")[2]: text for text in tracebacks}.values():
        print(text)  # one of each kind
    return int("Traceback" in logged)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sys.exit(asyncio.run(main(arguments.messages, arguments.seed)))
