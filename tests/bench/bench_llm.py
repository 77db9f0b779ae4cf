"""Measure the LLM alone, under replayed conversations or traced calls, each technique on and off.

python tests/bench/bench_llm.py --calls 1,4 --compare prefix_caching,prefill_while_speaking
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from llm_load.logs import read_trace
from llm_load.measure import Load
from llm_load.runs import Plan, bench_llm, bench_overload
from llm_load.variants import parse_techniques

from voiceagent.bench.calls import parse_calls
from voiceagent.bench.commands import add_material
from voiceagent.bench.material import Material
from voiceagent.cli.main import run_command
from voiceagent.config import add_config
from voiceagent.config.tables import load
from voiceagent.demo import MATERIAL


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    _add_options(parser)
    return run_command(parser.parse_args(arguments))


def _add_options(llm: argparse.ArgumentParser) -> None:
    add_config(llm, positional=True)
    add_material(llm, MATERIAL)
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
        " or a TOML file that describes calls (tests/bench/llm_load/distribution.py)",
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


def _bench_llm(options: argparse.Namespace) -> None:
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


if __name__ == "__main__":
    sys.exit(main())
