"""Command line options of benchmarks: those that several share, and those of `bench llm`."""

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


def add_bench_llm(llm: argparse.ArgumentParser, material: Path) -> None:
    """Add the options. material: the default folder of callers' questions."""
    add_config(llm, positional=True)
    add_material(llm, material)
    _add_load(llm)
    _add_compared(llm)
    llm.add_argument("--seed", type=int, default=1, help="random seed (1)")
    llm.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the figures over the calls")
    llm.add_argument("--json", action="store_true", help="print JSON, for machines")
    llm.set_defaults(command=_bench_llm)


def _add_load(llm: argparse.ArgumentParser) -> None:
    """Add the options of the load."""
    llm.add_argument("--calls", default="4", metavar="N,N", help="concurrent calls, one measurement each (4)")
    llm.add_argument("--turns", type=int, default=60, help="turns of each measurement (60)")
    llm.add_argument(
        "--long-calls",
        type=int,
        default=0,
        metavar="N",
        help="further callers, who send long prompts (0)",
    )
    llm.add_argument(
        "--long-tokens", type=int, default=4000, metavar="N", help="length of those prompts, about (4000)"
    )
    llm.add_argument(
        "--history",
        type=int,
        default=0,
        metavar="N",
        help="tokens of history at the beginning of a call (0)",
    )
    llm.add_argument(
        "--trace",
        type=Path,
        metavar="PLACE",
        help="replay calls instead of --calls, --turns and --history: a folder of kept calls,"
        " or a TOML file that describes calls (voiceagent/bench/trace/distribution.py)",
    )


def _add_compared(llm: argparse.ArgumentParser) -> None:
    """Add the options of comparisons."""
    llm.add_argument(
        "--overload", action="store_true", help="find how many calls are accepted, then offer twice as many"
    )
    llm.add_argument(
        "--baseline", nargs=2, metavar=("URL", "MODEL"), help="also measure a plain OpenAI-compatible server"
    )
    llm.add_argument(
        "--plain-vllm",
        action="store_true",
        help="also start vLLM's own server with the model, and measure it",
    )
    llm.add_argument(
        "--load-format",
        default="",
        metavar="FORMAT",
        help='load format of vLLM; "dummy" has random weights and downloads nothing',
    )
    llm.add_argument(
        "--compare",
        default="",
        metavar="TECHNIQUE,TECHNIQUE",
        help="measure again with each of these off:"
        " prefix_caching, chunked_prefill, speculation, prefill_while_speaking, priority, policies",
    )


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


def _bench_llm(options: argparse.Namespace) -> None:
    from voiceagent.bench.calls import parse_calls
    from voiceagent.bench.llm import Plan, bench_llm, bench_overload
    from voiceagent.bench.llm_measure import Load
    from voiceagent.bench.llm_parts import parse_techniques
    from voiceagent.bench.material import Material
    from voiceagent.bench.trace.logs import read_trace
    from voiceagent.config.tables import load

    calls, material = parse_calls(options.calls), Material(options.material)
    trace = read_trace(options.trace, material.conversations(), options.seed) if options.trace else ()
    plan = Plan(
        material=material,
        calls=calls,
        trace=trace,
        load=Load(
            calls=max(calls),
            turns=options.turns,
            long_calls=options.long_calls,
            long_tokens=options.long_tokens,
            history_tokens=options.history,
            seed=options.seed,
        ),
        compare=parse_techniques(options.compare),
        baseline=tuple(options.baseline) if options.baseline else None,
        plain_vllm=options.plain_vllm,
        load_format=options.load_format,
        plot=options.plot,
    )
    measure = bench_overload if options.overload else bench_llm
    measure(load(options.config), plan, as_json=options.json)
