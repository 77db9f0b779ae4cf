"""Compare ways to run a cluster, simulated: `python tests/bench/replicas.py --calls 10000 --replicas 4`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from simulation.cluster import Cluster
from simulation.gateway import Promise
from simulation.load import Load, Troubles
from simulation.replica import Machine
from simulation.report import Trial, report

from voiceagent.cli.main import run_command


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    _add_options(parser)
    return run_command(parser.parse_args(arguments))


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--calls", type=int, default=10_000, help="how many (10000)")
    add("--at-once", type=int, default=400, help="so many together, about (400)")
    add("--by-day", action="store_true", help="calls come as over a day")
    add("--turn-tokens", type=int, default=120, help="by which a prompt grows a turn (120)")
    add("--reply-tokens", type=int, default=40, help="of an answer (40)")
    add("--agents", type=int, default=1, help="with instructions of their own (1)")
    add("--agent-tokens", type=int, default=0, help="of the instructions of each (0)")
    add("--gateways", type=int, default=4, help="how many (4)")
    add("--max-calls", type=int, default=200, help="of each gateway (200)")
    add(
        "--ttft-budget-ms",
        type=float,
        default=100.0,
        help="beyond it load is shed, and calls refused at last (100)",
    )
    add("--replicas", type=int, default=4, help="how many (4)")
    add(
        "--prefill-replicas",
        type=int,
        default=0,
        help="so many of them read, and the others write (0: all both)",
    )
    add("--prefill-tokens-s", type=float, default=40_000.0, help="that a replica reads (40000)")
    add("--cache-tokens", type=int, default=400_000, help="that a replica keeps (400000)")
    add(
        "--transfer-tokens-s",
        type=float,
        default=200_000.0,
        help="from one that reads to one that writes (200000)",
    )
    add("--max-running", type=int, default=64, help="requests at once, of a replica (64)")
    add("--token-s", type=float, default=0.004, help="seconds a token of an answer (0.004)")
    add("--beside-s", type=float, default=0.0, help="more for each other answer at once (0)")
    add("--lost-s", type=float, default=60.0, help="so long one of them is away, in mid-run (60)")
    add("--deploy-s", type=float, default=0.0, help="so long each is replaced, one after the other (0)")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    machine = Machine(
        options.prefill_tokens_s,
        options.token_s,
        options.beside_s,
        max_running=options.max_running,
        cache_tokens=options.cache_tokens,
        transfer_tokens_s=options.transfer_tokens_s,
    )
    load = Load(
        options.calls,
        options.at_once,
        turn_tokens=options.turn_tokens,
        reply_tokens=options.reply_tokens,
        by_day=options.by_day,
        agents=options.agents,
        agent_tokens=options.agent_tokens,
    )
    cluster = Cluster(
        options.replicas,
        machine,
        options.gateways,
        prefill=options.prefill_replicas,
        promise=Promise(options.max_calls, ttft_budget_s=options.ttft_budget_ms / 1000),
    )
    report(Trial(load, cluster, Troubles(options.lost_s, options.deploy_s)))


if __name__ == "__main__":
    sys.exit(main())
