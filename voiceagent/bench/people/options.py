"""Command line of `voiceagent bench people`."""

from __future__ import annotations

import argparse
from pathlib import Path

from voiceagent.config import add_config, take_config


def add_people(people: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent bench people`."""
    people.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="recordings, with a manifest.json each"
    )
    add_config(people)
    people.add_argument(
        "--half",
        choices=("tune", "measure", "all"),
        default="measure",
        help="of the split in voiceagent/bench/people/split.csv (measure)",
    )
    people.add_argument("--kinds", default="", metavar="KIND,KIND", help="only these (all)")
    add_conditions(people)
    people.add_argument(
        "--times",
        type=int,
        default=1,
        help="say each recording so many times, each 7 ms later: frames cut it elsewhere (1)",
    )
    people.add_argument(
        "--answer-ms",
        type=float,
        default=0.0,
        help="what LLM and voice take to the first sound, without --over, by the clock of the sound (0)",
    )
    people.add_argument(
        "--beside",
        action="store_true",
        help="measure other eagernesses, silence alone and Smart Turn alone too",
    )
    people.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="draw cut-offs over waits, for all of them"
    )
    _add_line(people)
    people.add_argument(
        "--peer", default="", metavar="COMMAND", help="measure another server too, which prints its address"
    )
    people.add_argument("--json", action="store_true", help="print JSON, for machines")
    people.set_defaults(command=_bench_people)


def _add_line(people: argparse.ArgumentParser) -> None:
    people.add_argument(
        "--over",
        choices=("realtime", "twilio", "webrtc"),
        help="call a server of its own at the pace of real time (without it: by the clock of the sound)",
    )
    people.add_argument("--calls", type=int, default=2, help="so many calls at once, with --over (2)")
    people.add_argument(
        "--loss",
        type=float,
        default=0.0,
        help="part of packets that is lost, over WebRTC or without --over (0)",
    )
    people.add_argument("--jitter-ms", type=float, default=0.0, help="how late the others are at most (0)")


def add_conditions(parser: argparse.ArgumentParser) -> None:
    """Add the option of conditions of recordings."""
    parser.add_argument(
        "--conditions",
        default="",
        metavar="NAME,NAME",
        help="what is done to the sound: telephone, room (0.5 s) or room=SECONDS, far, noise=DB, "
        "tempo=FACTOR, pause=SECONDS",
    )


def _bench_people(options: argparse.Namespace) -> None:
    from voiceagent.bench.calls import parse_server
    from voiceagent.bench.people.calls import Calls
    from voiceagent.bench.people.command import Plan, bench_people
    from voiceagent.bench.people.conditions import parse_conditions
    from voiceagent.bench.webrtc_connection import Line
    from voiceagent.config.tables import load

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
