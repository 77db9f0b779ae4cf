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
    from voiceagent.failures import CommandFailed
    from voiceagent.validation import ConfigError

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
    serve.set_defaults(command=_serve)

    talk = commands.add_parser("talk", help="call the agent from recordings, one turn a file")
    talk.add_argument("questions", nargs="+", type=Path, metavar="question.wav", help="what the caller says")
    _add_config(talk)
    talk.add_argument("--out", type=Path, metavar="reply.wav", help="write the agent's sound here")
    talk.add_argument("--json", action="store_true", help="print JSON, for machines")
    talk.set_defaults(command=_talk)

    engines = commands.add_parser("engines", help="what can be chosen for each stage, and what it needs")
    engines.set_defaults(command=_engines)

    bench = commands.add_parser("bench", help="measure").add_subparsers(required=True, metavar="what")
    turns = bench.add_parser("turns", help="the latency of turns, by stage")
    turns.add_argument(
        "questions",
        nargs="*",
        type=Path,
        metavar="question.wav",
        help="what the caller says, in turn;"
        " without any, questions in the voice of the configured synthesizer",
    )
    _add_config(turns)
    turns.add_argument("--turns", type=int, default=30, help="how many (30)")
    turns.add_argument("--json", action="store_true", help="print JSON, for machines")
    turns.set_defaults(command=_bench_turns)
    return parser


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, default=DEMO, metavar="FILE", help=f"configuration ({DEMO})")


class _ShowVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from voiceagent import __version__

        print(f"voiceagent {__version__}")
        parser.exit()


def _serve(options: argparse.Namespace) -> None:
    from voiceagent.config import load
    from voiceagent.server import serve

    serve(load(options.config, host=options.host, port=options.port))


def _talk(options: argparse.Namespace) -> None:
    from voiceagent.config import load
    from voiceagent.talk import talk

    talk(load(options.config), options.questions, options.out, as_json=options.json)


def _engines(_: argparse.Namespace) -> None:
    from voiceagent.engine_table import print_engines

    print_engines()


def _bench_turns(options: argparse.Namespace) -> None:
    from voiceagent.bench.turns import bench_turns
    from voiceagent.config import load

    bench_turns(load(options.config), options.questions, options.turns, as_json=options.json)
