"""Command line options of benchmarks: those that several share, and those of `bench routing`."""

from __future__ import annotations

import argparse
from pathlib import Path

from voiceagent.config import add_config


def add_material(parser: argparse.ArgumentParser, folder: Path) -> None:
    """Add the option of the folder of material, by default `folder`."""
    parser.add_argument(
        "--material",
        type=Path,
        default=folder,
        metavar="FOLDER",
        help="folder of callers' texts, in the files that voiceagent/bench/material.py names (the demo's)",
    )


def add_recordings(parser: argparse.ArgumentParser, material: Path) -> None:
    """Add the options of recordings, a configuration, and the voice of unrecorded questions."""
    add_material(parser, material)
    parser.add_argument(
        "recordings",
        nargs="*",
        type=Path,
        metavar="speech.wav",
        help="recordings of callers, or folders of them",
    )
    add_config(parser)
    parser.add_argument(
        "--voice",
        type=Path,
        metavar="FILE",
        help="configuration whose synthesizer speaks unrecorded text (that of --config)",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (1)")


def add_measurement(parser: argparse.ArgumentParser, material: Path) -> None:
    """Add the same options, and JSON output."""
    add_recordings(parser, material)
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")


def add_bench_routing(routing: argparse.ArgumentParser, material: Path) -> None:
    """Add the options of the benchmark of routing between two LLMs."""
    add_config(routing, positional=True)
    add_material(routing, material)
    routing.add_argument(
        "--learn",
        type=Path,
        metavar="FILE.json",
        help="learn from every other question what the small LLM answers correctly, and write this file",
    )
    routing.add_argument(
        "--max-loss",
        type=float,
        default=1.0,
        metavar="POINTS",
        help="largest loss of correct answers by the learned routing, percentage points (1)",
    )
    routing.add_argument("--calls", type=int, default=4, metavar="N", help="concurrent calls (4)")
    routing.add_argument("--questions", type=int, metavar="N", help="questions of the set, about (all)")
    routing.set_defaults(command=_bench_routing)


def _bench_routing(options: argparse.Namespace) -> None:
    from voiceagent.bench.material import Material
    from voiceagent.bench.routing import Plan, bench_routing
    from voiceagent.config.tables import load

    questions = Material(options.material).labelled()
    every = 1 if options.questions is None else max(1, len(questions) // options.questions)
    plan = Plan(questions[::every], options.learn, options.max_loss, options.calls)
    bench_routing(load(options.config), plan)
