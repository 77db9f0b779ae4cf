"""Command line of `voiceagent gate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from voiceagent.config import add_config


def add_gate(parser: argparse.ArgumentParser, material: Path, reference: Path) -> None:
    """Add the options. material: default folder of the labelled set. reference: folder of a small
    CTranslate2 model.
    """
    add_config(parser, positional=True)
    beside = parser.add_mutually_exclusive_group(required=True)
    beside.add_argument("--baseline", type=Path, metavar="FILE.json", help="the figures of an earlier run")
    beside.add_argument(
        "--against",
        type=Path,
        metavar="FILE.toml",
        help="another configuration, such as one with a quantized model, to be measured and compared",
    )
    parser.add_argument("--record", action="store_true", help="make this run the baseline")
    parser.add_argument(
        "--max-loss",
        type=float,
        default=1.0,
        metavar="POINTS",
        help="largest loss of correct answers in --against, percentage points (1)",
    )
    parser.add_argument(
        "--labelled",
        type=Path,
        default=material / "labelled.jsonl",
        metavar="FILE.jsonl",
        help="labelled set, in the format of voiceagent/bench/material.py (the demo's)",
    )
    parser.add_argument(
        "--judge", type=Path, metavar="FILE.toml", help="configuration whose [llm] judges criteria of the set"
    )
    parser.add_argument("--questions", type=int, metavar="N", help="questions of the set (all)")
    parser.add_argument("--calls", type=int, default=4, metavar="N", help="concurrent calls (4)")
    parser.set_defaults(command=_gate, reference=reference)


def _gate(options: argparse.Namespace) -> None:
    from voiceagent.bench.gate.command import Plan, gate, gate_against
    from voiceagent.config.tables import load

    plan = Plan(
        labelled=options.labelled,
        reference=options.reference,
        calls=options.calls,
        questions=options.questions,
        judge=load(options.judge) if options.judge else None,
    )
    if options.against:
        gate_against(load(options.config), load(options.against), plan, options.max_loss)
    else:
        gate(load(options.config), plan, options.baseline, record=options.record)
