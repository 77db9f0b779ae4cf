"""Measure turns, words and waits on recordings of people, in virtual time or in real calls.

python tests/bench/bench_people.py PEOPLE --beside
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from people.calls import Calls
from people.command import Plan, bench_people
from people.conditions import add_conditions, parse_conditions

from voiceagent.bench.calls import parse_server
from voiceagent.bench.webrtc_connection import Line
from voiceagent.cli.main import run_command
from voiceagent.config import add_config, take_config
from voiceagent.config.tables import load


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    _add_options(parser)
    return run_command(parser.parse_args(arguments))


def _add_options(people: argparse.ArgumentParser) -> None:
    people.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="recordings, with a manifest.json each"
    )
    add_config(people)
    people.add_argument(
        "--half",
        choices=("tune", "measure", "all"),
        default="measure",
        help="half of the recordings, by tests/bench/people/split.csv (measure)",
    )
    people.add_argument("--kinds", default="", metavar="KIND,KIND", help="kinds of recordings (all)")
    add_conditions(people)
    people.add_argument(
        "--times",
        type=int,
        default=1,
        help="repetitions of each recording, each 7 ms later, so that frames divide it elsewhere (1)",
    )
    people.add_argument(
        "--answer-ms",
        type=float,
        default=0.0,
        help="time of LLM and voice to the first audio, in virtual time, without --over (0)",
    )
    people.add_argument(
        "--beside",
        action="store_true",
        help="also measure other values of eagerness, a fixed silence, and Smart Turn",
    )
    people.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="draw cut-offs over waits, for all of them"
    )
    _add_line(people)
    people.add_argument(
        "--peer", default="", metavar="COMMAND", help="also measure a server whose address COMMAND prints"
    )
    people.add_argument("--json", action="store_true", help="print JSON, for machines")
    people.set_defaults(command=_bench_people)


def _add_line(people: argparse.ArgumentParser) -> None:
    people.add_argument(
        "--over",
        choices=("realtime", "twilio", "webrtc"),
        help="make real calls to a server that is started for them (default: virtual time)",
    )
    people.add_argument("--calls", type=int, default=2, help="concurrent calls, with --over (2)")
    people.add_argument(
        "--loss",
        type=float,
        default=0.0,
        help="share of packets lost, over WebRTC or without --over (0)",
    )
    people.add_argument("--jitter-ms", type=float, default=0.0, help="largest delay of the other packets (0)")


def _bench_people(options: argparse.Namespace) -> None:
    take_config(options, "folders")
    line = Line(options.loss, options.jitter_ms / 1000)
    plan = Plan(
        folders=tuple(options.folders),
        half=options.half,
        kinds=tuple(kind.strip() for kind in options.kinds.split(",") if kind.strip()),
        conditions=parse_conditions(options.conditions),
        times=options.times,
        beside=options.beside,
        plot=options.plot,
        calls=Calls(options.over, options.calls, line) if options.over else None,
        line=line,
        answer_s=options.answer_ms / 1000,
        peer=parse_server(options.peer, 1),
    )
    bench_people(load(options.config), plan, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
