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
        help="half of the recordings, by voiceagent/bench/people/split.csv (measure)",
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


def add_conditions(parser: argparse.ArgumentParser) -> None:
    """Add the option of conditions of recordings."""
    parser.add_argument(
        "--conditions",
        default="",
        metavar="NAME,NAME",
        help="changes to the audio: telephone, room (0.5 s) or room=SECONDS, far, noise=DB, "
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
