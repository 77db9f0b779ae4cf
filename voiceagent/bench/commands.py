"""Command line of `voiceagent bench`, `gate` and `soak`. They import what they need when they run."""

from __future__ import annotations

import argparse
from pathlib import Path

from voiceagent.config import add_command, add_config, take_config
from voiceagent.validation.errors import CommandFailed

_IN_THE_REPOSITORY = {"people": "bench_people.py", "llm": "bench_llm.py"}
"""Measurements that were commands once."""


def add_gate(parser: argparse.ArgumentParser, material: Path, reference: Path) -> None:
    """Add the options. material: the labelled set's folder. reference: a small CTranslate2 model's."""
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


def add_soak(parser: argparse.ArgumentParser, material: Path) -> None:
    """Add the options of a soak test. material: the default folder."""
    add_recordings(parser, material)
    parser.add_argument("--hours", type=float, default=8.0, help="duration (8)")
    parser.add_argument("--calls", type=int, default=100, help="concurrent calls (100)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="call workers (2)")
    parser.add_argument("--calm", action="store_true", help="leave out faults and misbehaving clients")
    parser.set_defaults(command=_soak)


def add_bench(parser: argparse.ArgumentParser, material: Path) -> None:
    """Add a subcommand for each benchmark, with `command`. material: default folder of callers' questions."""
    bench = parser.add_subparsers(required=True, metavar="what")
    turns = add_command(bench, "turns", "the latency of turns, by stage, with parts of turn-taking off")
    _add_bench_turns(turns, material)
    _add_bench_calls(add_command(bench, "calls", "a server under many concurrent calls"), material)
    routing = add_command(bench, "routing", "turns shared between a large and a small LLM")
    add_bench_routing(routing, material)
    for name in _IN_THE_REPOSITORY:
        moved = bench.add_parser(name, add_help=False, prefix_chars="\0")  # any options
        moved.add_argument("rest", nargs="*")
        moved.set_defaults(command=_moved, moved=name)


def _moved(options: argparse.Namespace) -> None:
    program = f"python tests/bench/{_IN_THE_REPOSITORY[options.moved]}"
    raise CommandFailed(
        f"`bench {options.moved}` is a program of the repository, with the same options: {program}"
    )


def _add_bench_turns(turns: argparse.ArgumentParser, material: Path) -> None:
    add_measurement(turns, material)
    turns.add_argument("--calls", type=int, default=1, help="concurrent calls (1)")
    turns.add_argument("--turns", type=int, default=30, help="turns to measure (30)")
    turns.add_argument(
        "--spoken",
        choices=("plain", "paused", "both"),
        help="add synthesised questions, without or with pauses inside; both if no recordings are given",
    )
    turns.add_argument(
        "--compare",
        default="",
        metavar="PART,PART",
        help="measure again with each of these switched off, or on if it is off:"
        " preemptive, prefill_while_speaking, turn_model, semantic, resume",
    )
    turns.set_defaults(command=_bench_turns)


def _add_bench_calls(calls: argparse.ArgumentParser, material: Path) -> None:
    add_measurement(calls, material)
    calls.add_argument(
        "--calls", default="20", metavar="N,N", help="concurrent calls, one measurement each (20)"
    )
    calls.add_argument("--seconds", type=float, default=60.0, help="duration of each measurement (60)")
    calls.add_argument(
        "--server-core",
        type=int,
        metavar="N",
        help="pin the server to this core and the callers to the others",
    )
    calls.add_argument("--workers", type=int, default=1, metavar="N", help="call workers (1)")
    calls.add_argument(
        "--server",
        default="",
        metavar="COMMAND",
        help="measure another server: a command that prints its address",
    )
    calls.add_argument(
        "--over", choices=("realtime", "twilio", "webrtc"), default="realtime", help="the protocol"
    )
    calls.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the figures over the calls")
    calls.set_defaults(command=_bench_calls)


def _soak(options: argparse.Namespace) -> None:
    from voiceagent.bench.material import Material
    from voiceagent.bench.soak import Plan, soak
    from voiceagent.config.tables import load

    take_config(options, "recordings")
    plan = Plan(
        material=Material(options.material),
        recordings=tuple(options.recordings),
        voice=load(options.voice) if options.voice else None,
        calls=options.calls,
        seconds=options.hours * 3600,
        workers=options.workers,
        calm=options.calm,
        seed=options.seed,
    )
    soak(load(options.config), plan)


def _bench_turns(options: argparse.Namespace) -> None:
    from voiceagent.bench.material import Material
    from voiceagent.bench.turns import Plan, bench_turns, parse_parts
    from voiceagent.config.tables import load

    take_config(options, "recordings")
    spoken = options.spoken or ("" if options.recordings else "both")
    plan = Plan(
        material=Material(options.material),
        recordings=tuple(options.recordings),
        questions=spoken in ("plain", "both"),
        paused=spoken in ("paused", "both"),
        voice=load(options.voice) if options.voice else None,
        turns=options.turns,
        calls=options.calls,
        compare=parse_parts(options.compare),
        seed=options.seed,
    )
    bench_turns(load(options.config), plan, as_json=options.json)


def _bench_calls(options: argparse.Namespace) -> None:
    from voiceagent.bench.calls import Plan, bench_calls, parse_calls, parse_server
    from voiceagent.bench.material import Material
    from voiceagent.config.tables import load

    take_config(options, "recordings")
    plan = Plan(
        material=Material(options.material),
        recordings=tuple(options.recordings),
        voice=load(options.voice) if options.voice else None,
        calls=parse_calls(options.calls),
        seconds=options.seconds,
        server_core=options.server_core,
        workers=options.workers,
        server=parse_server(options.server, options.workers),
        over=options.over,
        plot=options.plot,
        seed=options.seed,
    )
    bench_calls(load(options.config), plan, as_json=options.json)
