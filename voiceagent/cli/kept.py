"""Command line arguments of the commands for kept calls."""

from __future__ import annotations

import argparse
from pathlib import Path

from voiceagent.config import add_command, add_config

COMMANDS = {
    "list": "the newest calls",
    "show": "one call, turn by turn",
    "play": "play its recording",
    "export": "all that is kept of it, as a zip",
    "delete": "delete every trace of it",
}


def add_calls(parser: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent calls list|show|play|export|delete`."""
    commands = parser.add_subparsers(required=True, metavar="command", dest="what")
    parsers = {name: add_command(commands, name, purpose) for name, purpose in COMMANDS.items()}
    for name, sub in parsers.items():
        if name != "list":
            sub.add_argument("call", metavar="ID", help="id of the call")
        add_config(sub, positional=True)
        sub.set_defaults(command=_calls)
    parsers["list"].add_argument(
        "--limit", type=int, default=50, metavar="N", help="maximum number of calls (50)"
    )
    parsers["list"].add_argument(
        "--provider-value",
        metavar="VALUE",
        help="only calls whose provider reported this value: a number, or its call id",
    )
    for name in ("list", "show"):
        parsers[name].add_argument("--json", action="store_true", help="print JSON, for machines")
    parsers["export"].add_argument("--out", type=Path, metavar="FILE.zip", help="file to write (ID.zip)")


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent replay ID` and `voiceagent replay --all FOLDER`."""
    parser.add_argument("call", nargs="?", metavar="ID", help="id of a kept call, or a file with its log")
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="all logs in a folder")
    add_config(parser, positional=True)
    parser.add_argument("--json", action="store_true", help="print JSON, for machines; with --all or --set")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replay with this key of the configuration changed, such as turn.silence_s=0.3",
    )
    parser.add_argument(
        "--from", dest="since", type=int, default=1, metavar="EVENT", help="change it from this event on (1)"
    )
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="with --set: load no engines, answer from the call's nearest requests",
    )
    parser.set_defaults(command=_replay)


def add_score(parser: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent score`."""
    parser.add_argument(
        "calls",
        nargs="*",
        metavar="CALLS",
        help="folders of kept calls, exported calls (zip) or IDs; by default those of the configuration",
    )
    add_config(parser)
    parser.add_argument(
        "--said",
        type=Path,
        metavar="FILE.jsonl",
        help="what the callers said, and when: a line of JSON for each call (docs/scores.md)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for machines, with each event")
    parser.set_defaults(command=_score)


def _calls(options: argparse.Namespace) -> None:
    require_extra()
    from voiceagent.calls.rows import CallFilter
    from voiceagent.cli import calls
    from voiceagent.config.tables import load

    config = load(options.config)
    match options.what:
        case "list":
            calls.list_calls(
                config, CallFilter(provider_value=options.provider_value), options.limit, options.json
            )
        case "show":
            calls.show_call(config, options.call, options.json)
        case "play":
            calls.play_call(config, options.call)
        case "export":
            calls.export_call(config, options.call, options.out)
        case _:
            calls.delete_kept_call(config, options.call)


def _replay(options: argparse.Namespace) -> None:
    require_extra()
    from voiceagent.cli.fork import fork_call
    from voiceagent.cli.replay import replay_all, replay_call
    from voiceagent.config.tables import load, parse_changes
    from voiceagent.validation.errors import CommandFailed

    if (options.call is None) == (options.all is None):
        raise CommandFailed("give the ID of a call, or --all FOLDER")
    if options.all is not None:
        replay_all(options.all, options.json)
    elif options.set:
        changed = load(options.config, parse_changes(options.set))
        config = load(options.config)
        fork_call(config, changed, options.call, options.since, options.json, options.recorded)
    else:
        replay_call(load(options.config), options.call)


def _score(options: argparse.Namespace) -> None:
    require_extra()
    from voiceagent.cli.score import score_calls
    from voiceagent.config.tables import load

    score_calls(load(options.config), options.calls, options.said, options.json)


def require_extra() -> None:
    """Raise CommandFailed unless the extra `calls` is installed."""
    from voiceagent.validation.errors import CommandFailed

    if not has_extra():
        raise CommandFailed("this needs pip install 'voiceagent-server[calls]'")


def has_extra() -> bool:
    """Return True if the extra `calls` is installed."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("sqlalchemy", "alembic", "zstandard", "fsspec"))
