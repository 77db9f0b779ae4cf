"""The command line. A command imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

DEMO = Path("configs/demo.toml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 when it went well, 1 when it failed, 2 when it was asked or configured wrongly."""
    options = _parser().parse_args(arguments)
    from voiceagent.config.validation import ConfigError
    from voiceagent.failures import CommandFailed

    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
    except ConfigError as error:
        print(f"voiceagent: {error}", file=sys.stderr)
        return 2
    except CommandFailed as error:
        print(f"voiceagent: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="voiceagent", description="A voice agent server.")
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version")
    commands = parser.add_subparsers(required=True, metavar="command")

    serve = commands.add_parser("serve", help="take calls until SIGTERM")
    _add_config(serve)
    serve.add_argument("--host", help="address to listen on, instead of the configuration's")
    serve.add_argument("--port", type=int, help="port to listen on, instead of the configuration's")
    serve.add_argument(
        "--max-calls", type=int, metavar="N", help="calls at once, instead of the configuration's"
    )
    serve.add_argument(
        "--workers", type=int, metavar="N", help="processes that take calls, instead of the configuration's"
    )
    serve.set_defaults(command=_serve)

    talk = commands.add_parser("talk", help="call the agent from recordings, one turn a file")
    talk.add_argument("questions", nargs="+", type=Path, metavar="question.wav", help="what the caller says")
    _add_config(talk)
    talk.add_argument("--out", type=Path, metavar="reply.wav", help="write the agent's sound here")
    talk.add_argument("--json", action="store_true", help="print JSON, for machines")
    talk.set_defaults(command=_talk)

    engines = commands.add_parser("engines", help="what can be chosen for each stage, and what it needs")
    engines.set_defaults(command=_engines)

    gate = commands.add_parser("gate", help="whether the LLM still answers rightly and in time")
    _add_config(gate)
    gate.add_argument("--baseline", type=Path, required=True, metavar="FILE.json", help="the limits")
    gate.add_argument("--questions", type=int, default=553, help="how many of the labelled set (all 553)")
    gate.set_defaults(command=_gate)

    _add_bench(commands.add_parser("bench", help="measure").add_subparsers(required=True, metavar="what"))
    return parser


def _add_bench(bench: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    turns = bench.add_parser("turns", help="the latency of turns, by stage, and what each part of it brings")
    _add_material(turns)
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
        " provisional, read_ahead, turn_model, semantic, resume",
    )
    turns.set_defaults(command=_bench_turns)

    interruptions = bench.add_parser("interruptions", help="how soon the agent yields to a voice")
    _add_material(interruptions)
    interruptions.add_argument("--interruptions", type=int, default=50, help="how many (50)")
    interruptions.add_argument("--noises", type=int, default=20, help="coughs and backchannels (20)")
    interruptions.add_argument(
        "--speakerphone", action="store_true", help="the callers' telephones hear the agent, as [echo] is for"
    )
    interruptions.set_defaults(command=_bench_interruptions)

    _add_bench_calls(bench.add_parser("calls", help="what a server carries: many calls at once"))
    _add_bench_llm(bench.add_parser("llm", help="the LLM alone, under replayed conversations"))


def _add_bench_llm(llm: argparse.ArgumentParser) -> None:
    _add_config(llm)
    llm.add_argument("--calls", default="4", metavar="N,N", help="so many at once, one measurement each (4)")
    llm.add_argument("--turns", type=int, default=60, help="how many each (60)")
    llm.add_argument(
        "--long-calls",
        type=int,
        default=0,
        metavar="N",
        help="callers beside them that send long prompts (0)",
    )
    llm.add_argument(
        "--long-tokens", type=int, default=4000, metavar="N", help="length of those prompts, about (4000)"
    )
    llm.add_argument(
        "--history",
        type=int,
        default=0,
        metavar="N",
        help="tokens that a call has behind it as it begins (0)",
    )
    llm.add_argument(
        "--overload", action="store_true", help="find how many calls are taken, then offer twice as many"
    )
    llm.add_argument(
        "--baseline", nargs=2, metavar=("URL", "MODEL"), help="measure a plain OpenAI-compatible server too"
    )
    llm.add_argument(
        "--load-format", default="", metavar="FORMAT", help='of vLLM: "dummy" is random weights, no download'
    )
    llm.add_argument(
        "--compare",
        default="",
        metavar="TECHNIQUE,TECHNIQUE",
        help="measure once more with each of these off:"
        " prefix_caching, chunked_prefill, speculation, reading_ahead, lanes",
    )
    llm.add_argument("--seed", type=int, default=1, help="of all that is random (1)")
    llm.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the figures over the calls")
    llm.add_argument("--json", action="store_true", help="print JSON, for machines")
    llm.set_defaults(command=_bench_llm)


def _add_bench_calls(calls: argparse.ArgumentParser) -> None:
    _add_recordings(calls)
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


def _add_material(parser: argparse.ArgumentParser) -> None:
    _add_recordings(parser)
    parser.add_argument("--calls", type=int, default=1, help="so many calls at once (1)")


def _add_recordings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recordings",
        nargs="*",
        type=Path,
        metavar="speech.wav",
        help="what the caller says: recordings, or folders of them",
    )
    _add_config(parser)
    parser.add_argument(
        "--voice",
        type=Path,
        metavar="FILE",
        help="configuration whose synthesizer speaks what is not recorded (that of --config)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of all that is random (1)")
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, default=DEMO, metavar="FILE", help=f"configuration ({DEMO})")


class _ShowVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from voiceagent import __version__

        print(f"voiceagent {__version__}")
        parser.exit()


def _serve(options: argparse.Namespace) -> None:
    from voiceagent.config.tables import load
    from voiceagent.server.app import serve

    given = {key: getattr(options, key) for key in ("host", "port", "max_calls", "workers")}
    serve(load(options.config, **given))


def _talk(options: argparse.Namespace) -> None:
    from voiceagent.config.tables import load
    from voiceagent.talk import talk

    talk(load(options.config), options.questions, options.out, as_json=options.json)


def _engines(_: argparse.Namespace) -> None:
    from voiceagent.engine_table import print_engines

    print_engines()


def _gate(options: argparse.Namespace) -> None:
    from voiceagent.bench.gate import gate
    from voiceagent.config.tables import load

    gate(load(options.config), options.baseline, options.questions)


def _bench_turns(options: argparse.Namespace) -> None:
    from voiceagent.bench.parts import parse_parts
    from voiceagent.bench.turns import Plan, bench_turns
    from voiceagent.config.tables import load

    spoken = options.spoken or ("" if options.recordings else "both")
    plan = Plan(
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
    from voiceagent.config.tables import load

    plan = Plan(
        recordings=tuple(options.recordings),
        voice=load(options.voice) if options.voice else None,
        interruptions=options.interruptions,
        speakerphone=options.speakerphone,
        noises=options.noises,
        calls=options.calls,
        seed=options.seed,
    )
    bench_interruptions(load(options.config), plan, as_json=options.json)


def _bench_calls(options: argparse.Namespace) -> None:
    from voiceagent.bench.calls import Plan, bench_calls, parse_calls, parse_server
    from voiceagent.config.tables import load

    plan = Plan(
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


def _bench_llm(options: argparse.Namespace) -> None:
    from voiceagent.bench.calls import parse_calls
    from voiceagent.bench.llm import Plan, bench_llm, bench_overload
    from voiceagent.bench.llm_measure import Load
    from voiceagent.bench.llm_parts import parse_techniques
    from voiceagent.config.tables import load

    calls = parse_calls(options.calls)
    plan = Plan(
        calls=calls,
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
        load_format=options.load_format,
        plot=options.plot,
    )
    measure = bench_overload if options.overload else bench_llm
    measure(load(options.config), plan, as_json=options.json)
