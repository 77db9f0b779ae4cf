"""Command line of `voiceagent bench`. Benchmarks import what they need when they run."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from voiceagent.bench.llm_options import add_bench_llm, add_bench_routing
from voiceagent.bench.options import add_measurement, add_recordings
from voiceagent.bench.people.options import add_conditions, add_people
from voiceagent.config import add_command, take_config


def add_soak(parser: argparse.ArgumentParser, material: Path) -> None:
    """Add the options of a soak test. material: the default folder."""
    add_recordings(parser, material)
    parser.add_argument("--hours", type=float, default=8.0, help="how long (8)")
    parser.add_argument("--calls", type=int, default=100, help="so many at once (100)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes that take them (2)")
    parser.add_argument("--calm", action="store_true", help="without faults and clients that misbehave")
    parser.set_defaults(command=_soak)


def add_bench(parser: argparse.ArgumentParser, material: Path) -> None:
    """Add a subcommand for each benchmark; each sets `command`. material: the default folder of
    callers' questions.
    """
    bench = parser.add_subparsers(required=True, metavar="what")
    turns = add_command(bench, "turns", "the latency of turns, by stage, and what each part of it brings")
    _add_bench_turns(turns, material)
    interruptions = add_command(bench, "interruptions", "how soon the agent yields to a voice")
    _add_bench_interruptions(interruptions, material)
    _add_bench_calls(add_command(bench, "calls", "what a server carries: many calls at once"), material)
    add_people(add_command(bench, "people", "turns, words and waits on recordings of people"))
    replicas = add_command(bench, "replicas", "calls over replicas of the LLM, simulated")
    _add_bench_replicas(replicas)
    add_bench_llm(add_command(bench, "llm", "the LLM alone, under replayed conversations"), material)
    routing = add_command(bench, "routing", "turns shared out between a large and a small LLM")
    add_bench_routing(routing, material)


def _add_bench_turns(turns: argparse.ArgumentParser, material: Path) -> None:
    add_measurement(turns, material)
    _add_calls_at_once(turns)
    turns.add_argument("--turns", type=int, default=30, help="how many (30)")
    turns.add_argument(
        "--spoken",
        choices=("plain", "paused", "both"),
        help="have questions spoken as well, without or with pauses inside;"
        " where no recordings are given, both are",
    )
    turns.add_argument(
        "--compare",
        default="",
        metavar="PART,PART",
        help="measure once more with each of these turned the other way:"
        " preemptive, prefill_while_speaking, turn_model, semantic, resume",
    )
    turns.set_defaults(command=_bench_turns)


def _add_bench_interruptions(interruptions: argparse.ArgumentParser, material: Path) -> None:
    add_measurement(interruptions, material)
    _add_calls_at_once(interruptions)
    interruptions.add_argument("--interruptions", type=int, default=50, help="how many (50)")
    interruptions.add_argument(
        "--noises",
        type=int,
        default=20,
        help="backchannels, and coughs, laughs, typing, music and others in turn (20)",
    )
    interruptions.add_argument(
        "--resumed",
        type=int,
        default=0,
        help="callers who go on just after their turn was taken to be over (0)",
    )
    add_conditions(interruptions)
    interruptions.add_argument(
        "--by-sound",
        action="store_true",
        help="by the clock of the sound, with an LLM and a voice that take no time (in real time)",
    )
    telephones = interruptions.add_mutually_exclusive_group()
    telephones.add_argument(
        "--speakerphone", action="store_true", help="the callers' telephones hear the agent, as [echo] is for"
    )
    telephones.add_argument(
        "--suppressed",
        type=float,
        metavar="DB",
        help="they cancel its echo, and lower all that they hear by so much while it sounds",
    )
    interruptions.set_defaults(command=_bench_interruptions)


def _add_bench_calls(calls: argparse.ArgumentParser, material: Path) -> None:
    add_measurement(calls, material)
    calls.add_argument(
        "--calls", default="20", metavar="N,N", help="so many at once, one measurement each (20)"
    )
    calls.add_argument("--seconds", type=float, default=60.0, help="how long each measurement takes (60)")
    calls.add_argument(
        "--server-core",
        type=int,
        metavar="N",
        help="pin the server to this core and the callers to the others",
    )
    calls.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes that take the calls (1)"
    )
    calls.add_argument(
        "--server", default="", metavar="COMMAND", help="measure another server, which prints its address"
    )
    calls.add_argument(
        "--over", choices=("realtime", "twilio", "webrtc"), default="realtime", help="the protocol"
    )
    calls.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the figures over the calls")
    calls.set_defaults(command=_bench_calls)


def _add_bench_replicas(replicas: argparse.ArgumentParser) -> None:
    add = replicas.add_argument
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
    replicas.set_defaults(command=_bench_replicas)


def _add_calls_at_once(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, default=1, help="so many calls at once (1)")


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
    from voiceagent.bench.parts import parse_parts
    from voiceagent.bench.turns import Plan, bench_turns
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


def _bench_interruptions(options: argparse.Namespace) -> None:
    from voiceagent.bench.interruptions import Plan, bench_interruptions
    from voiceagent.bench.material import Material
    from voiceagent.bench.people.conditions import parse_conditions
    from voiceagent.bench.speakerphone import EchoSuppressor, Speakerphone, Telephone
    from voiceagent.config.tables import load

    take_config(options, "recordings")
    telephone: Telephone | None = Speakerphone if options.speakerphone else None
    if options.suppressed is not None:
        telephone = partial(EchoSuppressor, lower_db=options.suppressed)
    plan = Plan(
        material=Material(options.material),
        recordings=tuple(options.recordings),
        voice=load(options.voice) if options.voice else None,
        conditions=parse_conditions(options.conditions),
        by_sound=options.by_sound,
        interruptions=options.interruptions,
        telephone=telephone,
        noises=options.noises,
        resumed=options.resumed,
        calls=options.calls,
        seed=options.seed,
    )
    bench_interruptions(load(options.config), plan, as_json=options.json)


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


def _bench_replicas(options: argparse.Namespace) -> None:
    from voiceagent.bench.simulation.cluster import Cluster
    from voiceagent.bench.simulation.gateway import Promise
    from voiceagent.bench.simulation.load import Load, Troubles
    from voiceagent.bench.simulation.replica import Machine
    from voiceagent.bench.simulation.report import Trial, report

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
